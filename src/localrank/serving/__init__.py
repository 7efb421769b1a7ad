"""The HTTP service: it ranks lists of documents with saved models."""

from localrank.serving.application import Application as Application
from localrank.serving.server import serve as serve
from localrank.serving.settings import Settings as Settings
