"""SQL as text: templates, the relations they read, quoting, and users' expressions."""
