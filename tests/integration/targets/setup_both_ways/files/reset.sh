#!/bin/sh
# The cluster as if the add-on had never been there: its record, its objects, its lock, what is kept of it.
# Usage: reset.sh KUBECTL KUBECONFIG
set -eu

remove() {
    "$kubectl" --kubeconfig "$kubeconfig" delete --ignore-not-found "$@"
}

kubectl=$1 kubeconfig=$2
remove addons.rendimiento.ai both-ways
remove customresourcedefinitions widgets.both-ways.example
remove deployments,configmaps,secrets --namespace both-ways --selector rendimiento.ai/addon
remove secrets --namespace rendimiento-system --selector rendimiento.ai/state-of=both-ways
remove leases --namespace rendimiento-system addon-both-ways
