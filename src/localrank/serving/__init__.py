"""The HTTP service: whole lists of documents ranked, with any model of localrank."""

from localrank.serving.application import Application as Application
from localrank.serving.server import serve as serve
from localrank.serving.settings import Settings as Settings
