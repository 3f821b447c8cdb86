import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { buildConsole } from '../../scripts/console-build.ts'
import { webFolder } from '../../src/server/console/build-list.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { lack } from '../support/service/lack.ts'
import { programFile } from '../support/service/program.ts'

const root = join(import.meta.dirname, '..', '..')

/** Files of the system in a namespace whose names are looked up at an address without a route. */
function namesFromNowhere(folder: string): readonly string[] {
  const files = { '/etc/resolv.conf': 'nameserver 192.0.2.53\n', '/etc/nsswitch.conf': 'hosts: files dns\n' }
  return Object.entries(files)
    .filter(([path]) => existsSync(path))
    .flatMap(([path, content]) => {
      const file = join(folder, path.split('/').at(-1) ?? '')
      writeFileSync(file, content)
      return ['--ro-bind', file, realpathSync(path)]
    })
}

test('a service with defaults contacts no other host by itself: the kernel counts every attempt in a network without routes', {
  skip: lack('bubblewrap'),
}, async () => {
  // A package of a release has it; a start from the sources would install and build it.
  buildConsole(webFolder)
  const folder = temporaryFolder()
  const { stdout } = await promisify(execFile)('bwrap', [
    ...['--dev-bind', '/', '/', '--unshare-net', '--die-with-parent', '--cap-add', 'ALL'],
    ...namesFromNowhere(folder),
    ...[process.execPath, join(root, 'test/support/network/without-routes-main.ts'), programFile, folder],
  ])
  const { controls, service } = JSON.parse(stdout) as { controls: Record<string, number>; service: number }
  for (const [kind, count] of Object.entries(controls)) assert.ok(count > 0, `an attempt by ${kind} is not counted`)
  assert.equal(service, 0, 'attempts of the service and its processes to reach another host')
})
