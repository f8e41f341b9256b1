#!/usr/bin/env python3
"""A zoo."""
import os


class Animal:
    """Has a name."""

    def __init__(self, name):
        self.name = name

    @property
    def loud(self):
        if self.name:
            return self.name.upper()


def main():
    print(Animal("cat").loud)
