# Shared by bin/kvrelay and benchmarks/run; sourced, with $root set to the top of the repository.

# build_if_stale MODULE JAR: package MODULE and what it needs when JAR is missing or older than any
# source. Two starts at once take turns, and the second finds the work done. The build never reads
# the caller's standard input and writes only to standard error.
build_if_stale() {
  local module=$1 jar=$2 stamp=$root/$1/target/.launch-stamp
  mkdir -p "$root/$module/target" || return
  (
    flock 9 || exit
    if fresh "$jar"; then exit 0; fi
    echo "building $module ..." >&2
    # A program that still runs from the old files keeps them: they are unlinked, not overwritten.
    rm -rf "$jar" "$root/$module/target/lib"
    touch "$stamp"
    mvn -q -B -f "$root/pom.xml" -pl "$module" -am package \
      -Dmaven.test.skip=true -Denforcer.skip=true </dev/null >&2 || exit
    # What was edited while the build ran is newer than the build.
    touch -r "$stamp" "$jar"
  ) 9>"$root/$module/target/.launch-lock"
}

# Directories count too: a deleted or renamed file changes only them.
fresh() {
  local jar=$1 newer
  [[ -f $jar ]] || return
  newer=$(find "$root/pom.xml" "$root/.mvn" "$root"/*/pom.xml "$root"/*/src/main \
    -newer "$jar" -print -quit) || return
  [[ -z $newer ]]
}

# The directory above the script's own, through any symbolic links.
root_of() {
  local script
  script=$(readlink -f -- "$1") && cd -- "$(dirname -- "$script")/.." && pwd
}

# The java that Maven would use.
java_command() {
  if [[ -n ${JAVA_HOME:-} && -x $JAVA_HOME/bin/java ]]; then
    echo "$JAVA_HOME/bin/java"
  else
    command -v java || { echo "no java: set JAVA_HOME to a JDK 17 or later" >&2; return 1; }
  fi
}
