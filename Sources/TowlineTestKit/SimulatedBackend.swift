// The simulated backend comes here.
