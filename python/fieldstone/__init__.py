"""Fields for structured-grid models."""
