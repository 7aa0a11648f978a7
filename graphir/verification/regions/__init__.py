"""The candidate judged part by part, each part on the reference's own numbers."""
