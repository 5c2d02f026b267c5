"""What repeatguard costs: for a call, for a request, for a run, and for very many runs."""
