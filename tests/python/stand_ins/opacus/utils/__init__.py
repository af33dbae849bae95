"""What Opacus keeps in its package utils."""
