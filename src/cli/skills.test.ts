import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const record = (id: string, name: string) => ({
  id,
  name,
  description: null,
  content: 'C',
  created_at: '1970-01-01T00:00:00.000Z',
})

async function folderOf(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-skills-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

test('skills ls prints one skill per line', async () => {
  const data = [record('skill_1', 'Te\u001b[2Jrse'), { ...record('skill_2', 'Long'), description: 'a\nb' }]
  const { fetch, seen } = scriptedService({ 'GET /api/v1/skills': () => Response.json({ data, next_cursor: 'c' }) })
  const { code, stdout, stderr } = await runLine(['skills', 'ls', '--limit', '2'], { fetch })
  assert.equal(code, 0)
  assert.deepEqual(stdout.split('\n'), ['ID       NAME   DESCRIPTION', 'skill_1  Terse  -', 'skill_2  Long   a b', ''])
  assert.equal(stderr, 'More: --cursor c\n')
  assert.equal(seen[0]?.call, 'GET /api/v1/skills?limit=2')
})

/** A service that keeps the names of the files of each upload. */
function uploadService() {
  const uploads: [name: string, text: string][][] = []
  const { fetch } = scriptedService({
    'GET /api/v1/skills/skill_1': () => Response.json(record('skill_1', 'a')),
    async 'POST /v1/skills'({ form }) {
      const files = form?.getAll('files[]') as File[]
      uploads.push(await Promise.all(files.map(async file => [file.name, await file.text()] as [string, string])))
      return Response.json({ id: 'skill_1' })
    },
  })
  return { fetch, uploads }
}

test('skills import uploads a folder with its files, and says what it left out', async t => {
  const files = { 'one/SKILL.md': '---\nname: a\n---\nB\n', 'one/scripts/run.sh': 'x', 'one/.git/HEAD': 'x' }
  const folder = await folderOf(t, files)
  const { fetch, uploads } = uploadService()
  const { code, stdout, stderr } = await runLine(['skills', 'import', join(folder, 'one')], { fetch })
  assert.deepEqual([code, stdout], [0, 'skill_1  a\n'])
  assert.match(stderr, /left out \.git/)
  assert.deepEqual(uploads, [Object.entries(files).slice(0, 2)])
})

test('skills import imports every skill of a folder of skills, ordered by name', async t => {
  const folder = await folderOf(t, {
    'b/SKILL.md': 'B',
    'a/SKILL.md': 'A',
    'c/README.md': 'no skill',
    'README.md': 'x',
  })
  const { fetch, uploads } = uploadService()
  const { stdout } = await runLine(['skills', 'import', folder, '--json'], { fetch })
  assert.deepEqual(uploads, [[['a/SKILL.md', 'A']], [['b/SKILL.md', 'B']]])
  assert.equal(JSON.parse(stdout).data.length, 2)
})

test('skills import of a folder without skills fails and sends no request', async t => {
  const folder = await folderOf(t, { 'README.md': 'x' })
  for (const [path, message] of [
    [folder, /no SKILL\.md/],
    [join(folder, 'nothing'), /cannot read folder .*: ENOENT/],
    [join(folder, 'README.md'), /cannot read folder .*: ENOTDIR/],
  ] as const) {
    const { code, stderr } = await runLine(['skills', 'import', path])
    assert.equal(code, 2)
    assert.match(stderr, message)
  }
})

test('skills attach, detach and upgrade send their arguments', async () => {
  const path = '/api/v1/managed_agents/agents/agent_1/skill'
  const agent = { version: 2 }
  const state = { agent_id: 'agent_1', name: 'Ada', version: 3, state: 'upgraded' }
  const { fetch, seen } = scriptedService({
    [`POST ${path}`]: () => Response.json({ agent }),
    [`DELETE ${path}`]: () => Response.json({ agent }),
    'POST /api/v1/skills/skill_1/upgrade': () => Response.json({ data: [state] }),
  })
  assert.match(
    (await runLine(['skills', 'attach', 'agent_1', 'skill_1'], { fetch })).stdout,
    /skill_1 is attached to agent_1/,
  )
  await runLine(['skills', 'detach', 'agent_1', 'skill_1'], { fetch })
  await runLine(['skills', 'detach', 'agent_1'], { fetch })
  const { stdout } = await runLine(['skills', 'upgrade', 'skill_1', '--dry-run'], { fetch })
  assert.equal(stdout, 'AGENT    STATE     VERSION  NAME\nagent_1  upgraded  3        Ada\n')
  assert.deepEqual(
    seen.map(({ call, body }) => [call, body]),
    [
      [`POST ${path}`, { skill_id: 'skill_1' }],
      [`DELETE ${path}?skill_id=skill_1`, undefined],
      [`DELETE ${path}`, undefined],
      ['POST /api/v1/skills/skill_1/upgrade', { dry_run: true, include_edited: false }],
    ],
  )
})

test('agents export prints only the file, and agents import sends it unchanged', async t => {
  const file = {
    format: 'switchyard.agent',
    agent: { system: 'tab\t, \u009b, \u202e and\r\nlines' },
    omitted: ['tools[0].token'],
  }
  const { fetch, seen } = scriptedService({
    'GET /api/agents/agent_1/export': () => Response.json(file),
    'POST /api/agents/import': () => Response.json({ id: 'agent_2' }),
  })
  const { stdout, stderr } = await runLine(['agents', 'export', 'agent_1'], { fetch })
  assert.match(stderr, /Omitted.*tools\[0\]\.token/)
  const folder = await folderOf(t, { 'ada.json': stdout })
  const imported = await runLine(['agents', 'import', join(folder, 'ada.json'), '--name', 'A', '--owner', 'o'], {
    fetch,
  })
  assert.deepEqual([imported.code, imported.stdout], [0, 'agent_2\n'])
  assert.deepEqual([seen[1]?.call, seen[1]?.body], ['POST /api/agents/import?name=A&owner_id=o', file])
  const stdin = { isTerminal: false, read: async () => stdout }
  assert.equal((await runLine(['agents', 'import', '-'], { fetch, stdin })).code, 0)
  assert.deepEqual(seen[2]?.body, file)
  const wrong = await runLine(['agents', 'import', '-'], { fetch, stdin: { isTerminal: false, read: async () => 'x' } })
  assert.equal(wrong.code, 2)
})
