#!/bin/sh
# Makes the namespace of the add-on and the gitops repository, whose commits are tagged first, second and last.
# Usage: make.sh SOURCE REPOSITORY KUBECTL KUBECONFIG
set -eu

"$3" --kubeconfig "$4" create namespace both-ways --dry-run=client -o json | "$3" --kubeconfig "$4" apply -f -

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Test GIT_AUTHOR_EMAIL=test@example.com
export GIT_COMMITTER_NAME=Test GIT_COMMITTER_EMAIL=test@example.com

commit() {
    git add --all
    git commit --quiet --message "$1"
    git tag "$1"
}

rm -rf "$2"
cp -R "$1" "$2"
cd "$2"
git init --quiet
commit first

# One object changes, two leave.
sed 's/level: info/level: debug/' both-ways/settings.yaml > changed
mv changed both-ways/settings.yaml
rm both-ways/retired.yaml
commit second

# The whole add-on leaves.
rm addons/both-ways.yaml
commit last
