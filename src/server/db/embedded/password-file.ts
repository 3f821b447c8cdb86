import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from '../../platform/child-process.ts'
import type { Account } from './account.ts'

const path = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

interface Command {
  readonly file: string
  readonly args: string[]
}

/** The command with `passwordFile` in the place of `/etc/passwd`, for itself alone. */
export const withPasswordFile = (passwordFile: string, { file, args }: Command): Command => ({
  file: 'unshare',
  args: [
    ...['--mount', '--propagation', 'private', '--', '/bin/sh', '-c'],
    ...['mount --bind "$0" /etc/passwd && exec "$@"', passwordFile, file, ...args],
  ],
})

/**
 * A file that lists `account`, which `/etc/passwd` does not; undefined where the system permits no mount namespace, as most
 * containers do not, or where the C library gets its users from elsewhere.
 */
export async function passwordFile({ uid, gid }: Account, dataDir: string): Promise<string | undefined> {
  const folder = join(dataDir, 'postgres-access')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'passwd')
  writeFileSync(file, `root:x:0:0::/:/bin/false\nswitchyard:x:${uid}:${gid}::/:/bin/false\n`)
  chmodSync(file, 0o644)
  try {
    const command = withPasswordFile(file, { file: 'getent', args: ['passwd', String(uid)] })
    await runChild(command.file, command.args, { cwd: '/', env: { PATH: path } })
    return file
  } catch {
    return undefined
  }
}
