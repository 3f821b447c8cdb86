const remedies: readonly (readonly [RegExp, string])[] = [
  [/bwrap: not found|ENOENT/, 'install bubblewrap (on Debian: apt install bubblewrap)'],
  [/Linux only/, 'run the service on Linux for real programs'],
  [
    /namespace|not permitted|Permission denied|No permissions/i,
    'allow user namespaces here: sysctl kernel.unprivileged_userns_clone=1 and ' +
      'kernel.apparmor_restrict_unprivileged_userns=0, or a seccomp profile of the container that allows unshare and mount',
  ],
]

/** Returns the next step for an error of bubblewrap. */
export const bubblewrapRemedy = (reason: string): string =>
  remedies.find(([pattern]) => pattern.test(reason))?.[1] ??
  'run "bwrap --unshare-all --ro-bind / / true" and fix the reported error'
