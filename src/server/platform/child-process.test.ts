import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const module = JSON.stringify(new URL('./child-process.ts', import.meta.url).href)

/** What a program of ours writes that was started by bash after `before`. */
const written = (before: string, script: string): string =>
  execFileSync('bash', ['-c', `${before}; exec "$@"`, 'bash', process.execPath, '--input-type=module', '-e', script], {
    encoding: 'utf8',
  })

const lister = 'for fd in /proc/self/fd/*; do readlink "$fd"; done'

/** The files that a child sees as its descriptors, pipes and devices apart. */
const seenByChild = (before: string): string[] => {
  const script = `
    import { startChild } from ${module}
    const child = startChild('/bin/bash', ['-c', ${JSON.stringify(lister)}], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.pipe(process.stdout)`
  return written(before, script)
    .split('\n')
    .filter(path => path.startsWith('/') && !/^\/(dev|proc)\//.test(path))
}

const isLinux = process.platform === 'linux'

if (isLinux) {
  test('H1, S32: a child gets none of the descriptors that were open when this process began, whatever their numbers', () => {
    assert.deepEqual(seenByChild('exec 3</etc/passwd 9</ 17</etc/passwd 18</etc/group 100</ 200</etc/passwd 201</'), [])
  })

  test('H1: descriptors between which there are gaps are closed by name, before the first program runs', () => {
    const script = `
      import { closeInheritedDescriptors } from ${module.replace('child-process', 'inherited-descriptors')}
      process.stdout.write(JSON.stringify([closeInheritedDescriptors(), closeInheritedDescriptors()]))`
    const closed = JSON.parse(written('exec 40</etc/passwd 200</', script)) as number[][]
    assert.ok(closed[0]?.includes(40) && closed[0].includes(200), String(closed[0]))
    assert.deepEqual(closed[1], [])
  })
}
