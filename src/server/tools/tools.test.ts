import assert from 'node:assert/strict'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { lack } from '../../../test/support/service/lack.ts'
import { ByteGate } from '../platform/byte-gate.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { quiet, sandboxesForTests } from '../sandboxes/sandboxes-for-tests.ts'
import { defaultToolLimits, type ToolContext, toolMemoryBytes } from './tool.ts'
import { servicesForTests } from './tools-for-tests.ts'
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
      ...servicesForTests(),
    }
    const call = async (name: string, input: unknown, changes: Partial<ToolContext> = {}) => {
      const tool = builtinTools.find(builtin => builtin.name === name)
      assert(tool)
      const { content, is_error } = await tool.run(input, { ...context, ...changes })
      return { text: content.map(({ text }) => text).join(''), isError: is_error }
    }
    return { call, folder: join(sandboxes.workspacesDir, id), sandbox, context }
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
      ['edit', { file_path: 'x', old_string: 'a' }, /^new_string is required, or edits$/],
      ['edit', { file_path: 'x' }, /^old_string is required, or edits$/],
      ['edit', { file_path: 'x', edits: [] }, /edits must not have fewer than 1/],
      ['edit', { file_path: 'x', edits: [{ old_string: 'a' }] }, /edits\.0 must have required properties new_string/],
      [
        'edit',
        { file_path: 'x', replace_all: true, edits: [{ old_string: 'a', new_string: 'b' }] },
        /^use either edits/,
      ],
      ['read', { file_path: 'x', offset: 0 }, /offset must be >= 1/],
      ['todo_write', { todos: [{ content: 'x', status: 'soon' }] }, /todos\.0\.status/],
      ['todo_write', { todos: [{ content: ' ', status: 'pending' }] }, /todos\.0\.content must match pattern/],
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
    assert.equal(String(await sandbox.files.read(path)), whole.trimEnd())
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

  test(`${driver}: several edits of one call are applied in order, or none of them`, async () => {
    const { call, sandbox } = await setUp()
    await call('write', { file_path: 'a.txt', content: 'one two two\n' })
    const edits = [
      { old_string: 'one', new_string: 'three' },
      { old_string: 'three', new_string: 'four' },
      { old_string: 'two', new_string: '2', replace_all: true },
    ]
    assert.equal((await call('edit', { file_path: 'a.txt', edits })).text, 'edited a.txt (4 places)')
    assert.equal(String(await sandbox.files.read('a.txt')), 'four 2 2\n')
    const failing = [
      { old_string: 'four', new_string: 'five' },
      { old_string: '2', new_string: 'x' },
    ]
    assert.deepEqual(await call('edit', { file_path: 'a.txt', edits: failing }), {
      text: 'edits[1].old_string: found 2 times in a.txt; add more context, or set replace_all',
      isError: true,
    })
    const empty = [{ old_string: '', new_string: 'x' }]
    assert.match((await call('edit', { file_path: 'a.txt', edits: empty })).text, /^edits\[0\]\.old_string is empty/)
    assert.equal(String(await sandbox.files.read('a.txt')), 'four 2 2\n')
  })

  test(`${driver}: read takes an offset and a limit, and states where to continue`, async () => {
    const { call } = await setUp()
    await call('write', { file_path: 'a.txt', content: 'one\ntwo\nthree\nfour\n' })
    const part = await call('read', { file_path: 'a.txt', offset: 2, limit: 2 })
    assert.equal(part.text, '     2\ttwo\n     3\tthree\n[lines 2 to 3 of 4]')
    assert.equal((await call('read', { file_path: 'a.txt', offset: 4 })).text, '     4\tfour\n[lines 4 to 4 of 4]')
    assert.match((await call('read', { file_path: 'a.txt', offset: 5 })).text, /^offset: file has only 4 lines$/)
    const both = { file_path: 'a.txt', offset: 1, view_range: [1, 2] }
    assert.match((await call('read', both)).text, /^use either view_range, or offset and limit$/)
    const limits = { resultChars: 215, previewChars: 100 }
    const short = await call('read', { file_path: 'a.txt' }, { limits })
    assert.equal(short.text, '     1\tone\n[lines 1 to 1 of 4; continue with offset 2]')
  })

  test(`${driver}: an image and a PDF file are blocks for a model that reads them, else a text says so`, async () => {
    const { call, folder, context } = await setUp()
    const png = Buffer.concat([
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      Buffer.alloc(8),
      Buffer.from([0, 0, 1, 0, 0, 0, 0, 5]),
    ])
    await writeFile(join(folder, 'a.png'), png)
    await writeFile(join(folder, 'a.pdf'), '%PDF-1.7\n')
    await writeFile(join(folder, 'large.png'), Buffer.concat([png, Buffer.alloc(4_000_000)]))
    const blind = await call('read', { file_path: 'a.png' })
    assert.match(blind.text, /^a\.png: image\/png, 256x5 pixels, 24 bytes; model test is not known to read images/)
    assert(blind.isError)
    assert.match((await call('read', { file_path: 'a.pdf' })).text, /not known to read PDF files; extract its text/)
    const model = { name: 'test', images: true, documents: true }
    const read = builtinTools.find(({ name }) => name === 'read')
    const seen = await read?.run({ file_path: 'a.png' }, { ...context, model })
    assert.deepEqual(seen?.content, [
      { type: 'text', text: 'a.png: image/png, 256x5 pixels, 24 bytes' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
    ])
    const pdf = await read?.run({ file_path: 'a.pdf' }, { ...context, model })
    assert.equal(pdf?.content[1]?.type, 'document')
    assert.match((await call('read', { file_path: 'large.png' }, { model })).text, /exceeds 3750000 bytes/)
    assert.match((await call('read', { file_path: 'a.png', offset: 1 }, { model })).text, /it has no lines/)
  })

  test(`${driver}: the list of tasks is the result of its call`, async () => {
    const { call } = await setUp()
    const todos = [
      { content: 'read\nthe code', status: 'completed' },
      { content: 'fix it', status: 'in_progress' },
      { content: 'test it', status: 'pending' },
    ]
    assert.equal((await call('todo_write', { todos })).text, '[x] read the code\n[~] fix it\n[ ] test it')
    assert.equal((await call('todo_write', { todos: [] })).text, 'the list is empty')
  })

  test(`${driver}: a long result of any tool goes to a file, with its head and tail in the context`, async () => {
    const { call, sandbox } = await setUp()
    const limits = { resultChars: 1000, previewChars: 100 }
    await call('write', {
      file_path: 'a.txt',
      content: Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join(''),
    })
    const { text } = await call('grep', { pattern: 'line' }, { limits })
    assert.match(text, /^\[the whole output is in \.outputs\/\w+\.txt \(\d+ characters\); search it with grep/)
    assert.match(text, /a\.txt:1:line 0\n.*characters cut out.*a\.txt:300:line 299/s)
    assert(text.length < 350, text)
    const path = /(\.outputs\/\w+\.txt)/.exec(text)?.[1] ?? ''
    assert.equal(
      String(await sandbox.files.read(path))
        .split('\n')
        .filter(line => line !== '').length,
      300,
    )
    const failed = await call('bash', { command: 'seq 1 1000; exit 3' }, { limits })
    assert.match(failed.text, /\[exit code 3\]$/)
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

  test(`S34: ${driver}: read, write and edit reject paths and links that leave the workspace`, async () => {
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
  const signal = new AbortController().signal
  const context = { sandbox: broken, signal, limits: defaultToolLimits, memory, log, ...servicesForTests() }
  const tools = builtinTools.filter(({ name }) => name !== 'todo_write')
  const texts = { command: 'x', file_path: 'x', content: '', old_string: 'a', new_string: 'b', pattern: 'x' }
  const input = { ...texts, job_id: 'job_00000000', url: 'x', query: 'x' }
  for (const { name, run } of tools) {
    const { content, is_error } = await run(input, context)
    assert.deepEqual([is_error, content[0]?.text], [true, 'tool failed: internal error of the server'], name)
  }
  assert.equal(logged.length, tools.length)
})
