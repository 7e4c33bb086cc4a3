"""The commands about test collections and reproductions."""
