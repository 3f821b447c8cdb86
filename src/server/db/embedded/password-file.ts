import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from '../../platform/child-process.ts'
import type { Account } from './account.ts'

const path = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

interface Command {
  readonly file: string
  readonly args: string[]
}

/** Returns the command wrapped so that only it sees `passwordFile` as `/etc/passwd`. */
export const withPasswordFile = (passwordFile: string, { file, args }: Command): Command => ({
  file: 'unshare',
  args: [
    ...['--mount', '--propagation', 'private', '--', '/bin/sh', '-c'],
    ...['mount --bind "$0" /etc/passwd && exec "$@"', passwordFile, file, ...args],
  ],
})

/**
 * Creates a passwd file with `account`, which `/etc/passwd` does not list. Undefined if mount namespaces are not
 * permitted, as in most containers, or if the C library reads users from elsewhere.
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
