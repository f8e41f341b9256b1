#!/bin/sh
set -e

# build it
build() {
  make
}

build
