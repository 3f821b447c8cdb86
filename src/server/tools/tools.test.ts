import assert from 'node:assert/strict'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { lack } from '../../../test/support/service/lack.ts'
import { ByteGate } from '../platform/byte-gate.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { eventually, quiet, sandboxesForTests } from '../sandboxes/sandboxes-for-tests.ts'
import { defaultToolLimits, type ToolContext, toolMemoryBytes } from './tool.ts'
import { builtinTools } from './toolset.ts'

const memory = new ByteGate(toolMemoryBytes)
let sessions = 0

for (const driver of ['bubblewrap', 'virtual'] as const) {
  if (driver === 'bubblewrap' && lack(driver)) continue
  const sandboxes = await sandboxesForTests(driver)

  /** Creates the tools over a new workspace. */
  const setUp = async () => {
    const id = `ses_${++sessions}`
    const sandbox = await sandboxes.open(id)
    const context: ToolContext = {
      sandbox,
      signal: new AbortController().signal,
      limits: defaultToolLimits,
      memory,
      log: quiet,
    }
    const call = async (name: string, input: unknown, changes: Partial<ToolContext> = {}) => {
      const tool = builtinTools.find(builtin => builtin.name === name)
      assert(tool)
      const { content, is_error } = await tool.run(input, { ...context, ...changes })
      return { text: content.map(({ text }) => text).join(''), isError: is_error }
    }
    return { call, folder: join(sandboxes.workspacesDir, id), sandbox }
  }

  test(`${driver}: invalid input gives a result that names the field`, async () => {
    const { call } = await setUp()
    const wrong: [name: string, input: unknown, says: RegExp][] = [
      ['bash', {}, /bash: command is required/],
      ['bash', { command: 5 }, /command must be string/],
      ['bash', { command: '' }, /command must not/],
      ['bash', { command: 'true', timeout_ms: 1.5 }, /timeout_ms must be integer/],
      ['bash', { command: 'true', timeout_ms: 1e9 }, /timeout_ms must be <= 600000/],
      ['bash', { command: 'a\0b' }, /command: must not contain a NUL/],
      ['read', {}, /file_path/],
      ['read', { file_path: 'x', view_range: [1] }, /view_range must not/],
      ['write', { file_path: 'x' }, /content/],
      ['edit', { file_path: 'x', old_string: 'a' }, /new_string/],
      ['glob', null, /input must be object/],
      ['grep', 'text', /input must be object/],
      ['grep', { pattern: '' }, /pattern must not/],
    ]
    for (const [name, input, says] of wrong) {
      const { text, isError } = await call(name, input)
      assert(isError, text)
      assert.match(text, says)
    }
  })

  test(`${driver}: bash reports output, exit code and empty output`, async () => {
    const { call } = await setUp()
    assert.deepEqual(await call('bash', { command: 'echo hi', description: 'ignored' }), { text: 'hi', isError: false })
    assert.deepEqual(await call('bash', { command: 'echo hi; exit 3' }), { text: 'hi\n[exit code 3]', isError: true })
    assert.deepEqual(await call('bash', { command: 'true' }), { text: '(no output)', isError: false })
    assert.match((await call('bash', { restart: true })).text, /fresh shell/)
    assert.deepEqual(await call('bash', { command: 'sleep 60', timeout_ms: 400 }), {
      text: '[stopped: timeout reached]',
      isError: true,
    })
    assert.doesNotMatch((await call('bash', { command: "printf 'a\\000b'" })).text, /\0/)
  })

  test(`${driver}: output over the limit keeps head and tail and is written to a file`, async () => {
    const { call, sandbox } = await setUp()
    const { text } = await call('bash', { command: 'seq 1 30000' })
    assert(text.length < defaultToolLimits.resultChars + 100)
    assert.match(text, /characters cut out/)
    assert(text.endsWith('\n30000'))
    const path = /output is in (\.outputs\/\w+\.txt)/.exec(text)?.[1] ?? ''
    const whole = Array.from({ length: 30_000 }, (_, index) => `${index + 1}\n`).join('')
    assert.equal(String(await sandbox.files.read(path)), whole)
    assert.equal((await call('glob', { pattern: '**/*' })).text, 'No files found')
  })

  test(`${driver}: an interrupted call ends at once with an error result`, async () => {
    const { call, sandbox } = await setUp()
    const stop = new AbortController()
    const running = call('bash', { command: 'echo x > started; sleep 60' }, { signal: stop.signal })
    await eventually(async () => (await sandbox.files.list('.', { skip: new Set() })).paths.includes('started'))
    stop.abort()
    assert.deepEqual(await running, { text: '[cancelled]', isError: true })
    for (const { name } of builtinTools) {
      assert.deepEqual(await call(name, {}, { signal: stop.signal }), { text: 'cancelled', isError: true })
    }
  })

  test(`${driver}: a file is written, read with line numbers, and edited`, async () => {
    const { call } = await setUp()
    assert.equal(
      (await call('write', { file_path: 'a/b.txt', content: 'one\ntwo\none\n' })).text,
      'created a/b.txt (12 bytes)',
    )
    assert.equal(
      (await call('read', { file_path: '/workspace/a/b.txt' })).text,
      '     1\tone\n     2\ttwo\n     3\tone',
    )
    const part = await call('read', { file_path: 'a/b.txt', view_range: [2, 2] })
    assert.equal(part.text, '     2\ttwo\n[lines 2 to 2 of 3]')
    for (const view_range of [
      [4, -1],
      [0, 1],
      [3, 2],
    ]) {
      assert((await call('read', { file_path: 'a/b.txt', view_range })).isError)
    }
    const edit = { file_path: 'a/b.txt', old_string: 'one', new_string: '$& $1' }
    assert.match((await call('edit', edit)).text, /found 2 times/)
    assert.match((await call('edit', { ...edit, old_string: 'three' })).text, /not found in a\/b\.txt/)
    assert.match((await call('edit', { ...edit, old_string: '' })).text, /is empty/)
    assert.match((await call('edit', { ...edit, new_string: 'one' })).text, /is the same/)
    assert.equal((await call('edit', { ...edit, old_string: 'two' })).text, 'edited a/b.txt (1 place)')
    assert.equal((await call('edit', { ...edit, replace_all: true })).text, 'edited a/b.txt (2 places)')
    assert.equal((await call('bash', { command: 'cat a/b.txt' })).text, '$& $1\n$& $1\n$& $1')
  })

  test(`${driver}: a binary file is not read, and never damaged by an edit`, async () => {
    const { call, folder, sandbox } = await setUp()
    await writeFile(join(folder, 'binary'), Buffer.from([1, 0, 2]))
    await writeFile(join(folder, 'latin'), Buffer.from([0x61, 0xe9, 0x62]))
    await writeFile(join(folder, 'empty'), '')
    await writeFile(join(folder, 'dos'), '\ufeffone\r\ntwo\r\n')
    assert.match((await call('read', { file_path: 'binary' })).text, /binary: binary file/)
    assert.match((await call('read', { file_path: 'missing' })).text, /missing: file or folder does not exist/)
    assert.equal((await call('read', { file_path: 'empty' })).text, '(the file is empty)')
    assert.match((await call('edit', { file_path: 'latin', old_string: 'a', new_string: 'c' })).text, /not a UTF-8/)
    assert.match((await call('edit', { file_path: 'dos', old_string: 'one\ntwo', new_string: 'x' })).text, /\\r\\n/)
    await call('edit', { file_path: 'dos', old_string: 'one', new_string: '1' })
    assert.equal(String(await sandbox.files.read('dos')), '\ufeff1\r\ntwo\r\n')
  })

  test(`${driver}: long files and long lines are truncated`, async () => {
    const { call } = await setUp()
    await call('write', { file_path: 'long', content: 'x\n'.repeat(5000) })
    await call('write', { file_path: 'wide', content: 'y'.repeat(100_000) })
    assert.match((await call('read', { file_path: 'long' })).text, /\[lines 1 to 2000 of 5000\]$/)
    assert((await call('read', { file_path: 'wide' })).text.length < 3000)
  })

  test(`${driver}: read, write and edit reject paths and links that leave the workspace`, async () => {
    const { call, folder } = await setUp()
    await writeFile(join(sandboxes.workspacesDir, 'secret'), 'untouched')
    await symlink('../secret', join(folder, 'link'))
    await symlink('..', join(folder, 'up'))
    for (const file_path of [
      'link',
      'up/secret',
      '../secret',
      join(sandboxes.workspacesDir, 'secret'),
      '/etc/passwd',
      '~/x',
    ]) {
      assert((await call('read', { file_path })).isError, file_path)
      assert((await call('write', { file_path, content: 'x' })).isError, file_path)
      assert((await call('edit', { file_path, old_string: 'untouched', new_string: 'x' })).isError, file_path)
    }
    assert((await call('glob', { pattern: '*', path: 'up' })).isError)
    assert.equal((await call('glob', { pattern: '**/*' })).text, 'link\nup')
  })

  test(`${driver}: glob lists sorted paths from the workspace, and skipped folders only when named`, async () => {
    const { call } = await setUp()
    for (const file_path of ['b.ts', 'a/c.ts', 'a/d.md', 'node_modules/e.ts'])
      await call('write', { file_path, content: '' })
    assert.equal((await call('glob', { pattern: '**/*.ts' })).text, 'a/c.ts\nb.ts')
    assert.equal((await call('glob', { pattern: '*.md', path: '/workspace/a' })).text, 'a/d.md')
    assert.equal((await call('glob', { pattern: '/workspace/a/*' })).text, 'a/c.ts\na/d.md')
    assert.equal((await call('glob', { pattern: 'node_modules/*' })).text, 'node_modules/e.ts')
    assert.equal((await call('glob', { pattern: '*.rs' })).text, 'No files found')
    assert((await call('glob', { pattern: '*', path: 'missing' })).isError)
  })

  test(`${driver}: grep finds lines, never executes its input, and reports bad patterns`, async () => {
    const { call } = await setUp()
    await call('write', { file_path: 'a/b.txt', content: "one\nit's $HOME\n" })
    await call('write', { file_path: 'c.txt', content: 'none\n' })
    assert.equal((await call('grep', { pattern: 'on[e]' })).text.trim(), 'a/b.txt:1:one\nc.txt:1:none')
    assert.equal((await call('grep', { pattern: "it's [$]HOME", path: 'a' })).text.trim(), "a/b.txt:2:it's $HOME")
    assert.deepEqual(await call('grep', { pattern: 'two' }), { text: 'No matches found', isError: false })
    assert((await call('grep', { pattern: '((' })).isError)
    await call('grep', { pattern: "'; echo x > pwned; '", path: "a'; echo x > pwned; '" })
    await call('grep', { pattern: '$(echo x > pwned)', path: '--help' })
    assert.equal((await call('glob', { pattern: 'pwned' })).text, 'No files found')
  })

  test(`${driver}: parallel calls in one workspace do not disturb each other`, async () => {
    const { call } = await setUp()
    await call('write', { file_path: 'list', content: '0\n' })
    await Promise.all([
      ...[1, 2, 3, 4].map(n => call('edit', { file_path: 'list', old_string: '0\n', new_string: `0\n${n}\n` })),
      ...[1, 2, 3].map(n => call('bash', { command: `echo ${n} > made-${n}` })),
      ...[1, 2, 3].map(n => call('write', { file_path: `written-${n}`, content: `${n}` })),
    ])
    assert.equal(
      (await call('bash', { command: 'sort list | tr -d "\\n"; cat made-* written-*' })).text,
      '012341\n2\n3\n123',
    )
  })
}

test('an internal error is logged and not shown to the model', async () => {
  const logged: unknown[] = []
  const broken = new Proxy({} as Sandbox, {
    get() {
      throw new Error('password of the database')
    },
  })
  const log = { error: (fields: unknown) => void logged.push(fields) } as unknown as ToolContext['log']
  const context = { sandbox: broken, signal: new AbortController().signal, limits: defaultToolLimits, memory, log }
  for (const { name, run } of builtinTools) {
    const input = { command: 'x', file_path: 'x', content: '', old_string: 'a', new_string: 'b', pattern: 'x' }
    const { content, is_error } = await run(input, context)
    assert.deepEqual([is_error, content[0]?.text], [true, 'tool failed: internal error of the server'], name)
  }
  assert.equal(logged.length, builtinTools.length)
})
