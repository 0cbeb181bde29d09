# What bundle.sh --check runs in a root folder that has nothing but the bundle. Sourced by bundle.sh.
# shellcheck shell=bash disable=SC2016 # the commands that these functions print expand in the inner shell

# Without LibTorch the example that is left looks for GPUs, and says by 2 that there are none.
command_without_torch() { printf '%s\n' 'horovodrun -np 2 java -jar /hvd/train.jar gpu-check || [ $? = 2 ]'; }

command_with_torch() { printf '%s\n' 'horovodrun -np 2 java -jar /hvd/train.jar digits --epochs 1'; }

# LibTorch's build for GPUs needs CUDA's libraries, which no bundle has. Any other failure than that it names them fails.
command_that_names_libraries() {
    cat <<'COMMAND'
if words=$(horovodrun -np 1 java -jar /hvd/train.jar digits --device cuda 2>&1); then code=0; else code=$?; fi
printf '%s\n' "$words"
[[ $code != 0 && $words == *'[HVD-102]'*'does not find lib'* ]] || {
    echo "digits --device cuda ended with $code, and without [HVD-102] and a library that is missing" >&2
    exit 1
}
COMMAND
}
