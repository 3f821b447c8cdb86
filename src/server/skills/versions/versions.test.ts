import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { startSkillsApp } from '../../../../test/support/sessions/skills-app.ts'
import type { AnthropicSkill, AnthropicSkillVersion, OpenAiSkill } from '../../../contract/skill-folders.ts'
import type { Skill } from '../../../contract/skills.ts'
import type { Caller } from '../../http/caller.ts'
import { unzip, type ZipEntry, zipOf } from '../../platform/zip.ts'
import { createAttachedFolders } from './skill-folders.ts'
import { skillVersionStore } from './version-store.ts'
import { skillsFor } from './wanted-skills.ts'

const database = await freshDatabase()
const { app, skills, versions, call, done, newSkill, newAgent, attach, actionsOf } = startSkillsApp(database)
const address = await app.listen({ port: 0, host: '127.0.0.1' })
after(() => app.close())
const ana: Caller = { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined }
const anthropic = { 'anthropic-version': '2026-10-21' }

const skillFile = (name: string, text = 'Be terse.') => `---\nname: ${name}\ndescription: About ${name}\n---\n${text}\n`
const fileOf = ([path, content]: readonly [path: string, content: string | Buffer]) =>
  [new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), path] as const

/** Sends files as a form, with text fields before them. */
async function upload(
  url: string,
  files: Readonly<Record<string, string | Buffer>>,
  { fields = {}, headers = anthropic }: { readonly fields?: object; readonly headers?: object } = {},
) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const file of Object.entries(files)) form.append('files[]', ...fileOf(file))
  const answer = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { 'x-api-key': 'ana', ...headers },
    body: form,
  })
  return { status: answer.status, ignored: answer.headers.get('x-switchyard-ignored'), body: await answer.text() }
}

async function uploaded<T>(...args: Parameters<typeof upload>): Promise<T> {
  const answer = await upload(...args)
  assert.equal(answer.status, 200, answer.body)
  return JSON.parse(answer.body)
}

async function archiveAt(url: string): Promise<readonly ZipEntry[]> {
  const answer = await app.inject({ url, headers: { 'x-api-key': 'ana' } })
  assert.equal(answer.statusCode, 200, answer.body)
  return unzip(answer.rawPayload, { maxFiles: 10, maxBytes: 1_000_000 })
}

const textsOf = (entries: readonly ZipEntry[]) => entries.map(({ path, content }) => [path, content.toString()])

test('an uploaded folder is a skill of the library, and its files are downloaded as they were', async () => {
  const files = { 'terse/SKILL.md': skillFile('terse'), 'terse/scripts/a.py': 'print(1)\n' }
  const made = await uploaded<AnthropicSkill>('/v1/skills', files, { fields: { display_name: 'Short answers' } })
  assert.deepEqual([made.display_name, made.source, made.latest_version], ['Short answers', { type: 'custom' }, '1'])
  const listed = await done<Skill>('ana', `GET /api/v1/skills/${made.id}`)
  assert.deepEqual([listed.name, listed.description, listed.content], ['Short answers', 'About terse', 'Be terse.'])
  assert.deepEqual(textsOf(await archiveAt(`/v1/skills/${made.id}/content`)), Object.entries(files))
  const first = await app.inject({ url: `/v1/skills/${made.id}/content`, headers: { 'x-api-key': 'ana' } })
  assert.equal(first.headers['content-disposition'], 'attachment; filename="terse.zip"')
  assert.deepEqual(await actionsOf(made.id), ['skill.create'])
})

test('an upload that is repeated under its Idempotency-Key is stored once', async () => {
  const headers = { ...anthropic, 'idempotency-key': 'once' }
  const files = { 'once/SKILL.md': skillFile('once') }
  const { id } = await uploaded<AnthropicSkill>('/v1/skills', files, { headers })
  assert.equal((await uploaded<AnthropicSkill>('/v1/skills', files, { headers })).id, id)
  const path = `/v1/skills/${id}/versions`
  const second = await uploaded<AnthropicSkillVersion>(path, files, { headers })
  assert.deepEqual(await uploaded(path, files, { headers }), second)
  assert.equal((await upload(path, { ...files, 'once/a': 'a' }, { headers })).status, 422)
  assert.equal((await done<OpenAiSkill>('ana', `GET /v1/skills/${id}`)).latest_version, '2')
})

test('an archive is the same as its files', async () => {
  const zip = await zipOf([{ path: 'packed/SKILL.md', content: Buffer.from(skillFile('packed')) }], new Date())
  const made = await uploaded<OpenAiSkill>('/v1/skills', { 'anything.zip': zip }, { headers: {} })
  assert.deepEqual([made.object, made.name, made.description], ['skill', 'packed', 'About packed'])
})

test('a version is pinned by number and by id; a change of the text in the library makes one too', async () => {
  const { id } = await uploaded<AnthropicSkill>('/v1/skills', {
    'notes/SKILL.md': skillFile('notes', 'One.'),
    'notes/a.txt': 'a',
  })
  const path = `/v1/skills/${id}/versions`
  const second = await uploaded<AnthropicSkillVersion>(path, { 'notes/SKILL.md': skillFile('notes', 'Two.') })
  assert.deepEqual([second.version, second.name, second.skill_id], ['2', 'notes', id])
  assert.equal((await done<Skill>('ana', `GET /api/v1/skills/${id}`)).content, 'Two.')
  await done('ana', `PATCH /api/v1/skills/${id}`, { content: 'Three.' })
  await done('ana', `PATCH /api/v1/skills/${id}`, { name: 'Renamed' })

  const wanted = ['1', second.id, undefined].map(version => ({ id, version, field: 'skills[0]' }))
  const found = await skillsFor(ana, wanted, { skills, versions })
  assert.deepEqual(
    found.map(({ content, version, name }) => [content, version, name]),
    [
      ['One.', '1', 'Renamed'],
      ['Two.', second.id, 'Renamed'],
      ['Three.', undefined, 'Renamed'],
    ],
  )
  const missing = [{ id, version: '9', field: 'skills[4]' }]
  await assert.rejects(skillsFor(ana, missing, { skills, versions }), {
    code: 'invalid_request',
    message: `skills[4].version: skill ${id} has no version 9`,
  })
  const unknown = { id: 'skill_0', version: '1', field: 'skills[0]' }
  assert.deepEqual(await skillsFor(ana, [unknown], { skills, versions }), [])

  const written = '---\nname: notes\ndescription: About notes\n---\nThree.\n'
  assert.deepEqual(textsOf(await archiveAt(`${path}/3/content`)), [['notes/SKILL.md', written]])
  await done('ana', `POST /v1/skills/${id}`, { default_version: '1' })
  await done('ana', `PATCH /api/v1/skills/${id}`, { content: 'Four.' })
  const fourth = await archiveAt(`/v1/skills/${id}/content`)
  assert.deepEqual(
    fourth.map(({ path }) => path),
    ['notes/SKILL.md', 'notes/a.txt'],
    'the other files stay',
  )
  const renamed = await upload(path, { 'other/SKILL.md': skillFile('other') })
  assert.match(renamed.body, /must be notes/)
  const openAi = await uploaded(path, { 'other/SKILL.md': skillFile('other') }, { headers: {} })
  assert.deepEqual(openAi, { ...(openAi as object), object: 'skill.version', name: 'other', version: '5' })
  assert.equal((await done<Skill>('ana', `GET /api/v1/skills/${id}`)).content, 'Four.')
  assert.deepEqual(await actionsOf(id), [
    'skill.create',
    'skill.create_version',
    ...Array<string>(4).fill('skill.update'),
    'skill.create_version',
  ])
})

test('the newest version follows a deleted default version; a number is not used twice, the last version stays', async () => {
  const { id } = await newSkill({ name: 'Two Words', content: 'One.' })
  await done('ana', `PATCH /api/v1/skills/${id}`, { content: 'Two.' })
  const removed = await done<{ version: string }>('ana', `DELETE /v1/skills/${id}/versions/2`)
  assert.equal(removed.version, '2')
  assert.equal((await done<Skill>('ana', `GET /api/v1/skills/${id}`)).content, 'One.')
  assert.equal((await done<OpenAiSkill>('ana', `GET /v1/skills/${id}`)).name, 'two-words')
  const last = await call('ana', `DELETE /v1/skills/${id}/versions/1`)
  assert.equal(last.statusCode, 400)
  await done('ana', `PATCH /api/v1/skills/${id}`, { content: 'Three.' })
  assert.equal((await done<OpenAiSkill>('ana', `GET /v1/skills/${id}`)).latest_version, '3')
  await done('ana', `DELETE /v1/skills/${id}`)
  for (const table of ['skill_versions', 'skill_files', 'skill_contents']) {
    const { rows } = await database.pool.query(`select from ${table} where skill_id = $1`, [id])
    assert.equal(rows.length, 0, table)
  }
})

test('a skill of a process of the release before is a skill with versions', async () => {
  const { pool } = database
  const id = 'skill_0123456789abcdef0123456789abcdef'
  await pool.query(`insert into skills (id, owner_id, name, content) values ($1, 'ana', '?!', 'One.')`, [id])
  await pool.query(`update skills set name = 'Old', description = 'D', content = 'Two.' where id = $1`, [id])
  const { data } = await done<{ data: { version: string; name: string }[] }>('ana', `GET /v1/skills/${id}/versions`)
  assert.deepEqual(
    data.map(({ version, name }) => [version, name]),
    [
      ['2', 'skill'],
      ['1', 'skill'],
    ],
  )
})

test('versions that no upload asked for do not replace a pinned copy', async () => {
  const skill = await newSkill({ content: 'One.' })
  const agents = [await newAgent(), await newAgent()]
  for (const agent of agents) await attach(agent, { skill_id: skill.id })
  const text = `update agents set skills = (select json_agg(s::jsonb || '{"version": "1"}') from json_array_elements(skills) s) where id = $1`
  await database.pool.query(text, [agents[0]?.id])
  await done('ana', `PATCH /api/v1/skills/${skill.id}`, { content: 'Two.' })
  const upgrade = async (body: object) => {
    const { data } = await done<{ data: { agent_id: string; state: string }[] }>(
      'ana',
      `POST /api/v1/skills/${skill.id}/upgrade`,
      body,
    )
    return Object.fromEntries(data.map(({ agent_id, state }) => [agent_id, state]))
  }
  const [pinned = '', free = ''] = agents.map(({ id }) => id)
  assert.deepEqual(await upgrade({}), { [pinned]: 'outdated', [free]: 'upgraded' })
  assert.deepEqual(await upgrade({ agent_ids: [pinned] }), { [pinned]: 'upgraded' })
})

const good = { 'a/SKILL.md': skillFile('a') }
const rejected: readonly (readonly [files: Readonly<Record<string, string | Buffer>>, message: RegExp])[] = [
  [{}, /files is required/],
  [{ 'a/readme.md': 'x' }, /"a\/SKILL\.md" is missing/],
  [{ 'SKILL.md': skillFile('a') }, /"SKILL\.md" is not in a folder/],
  [{ ...good, 'b/x': 'x' }, /"b\/x" is not in the folder "a"/],
  [{ ...good, 'a/../../x': 'x' }, /"a\/\.\.\/\.\.\/x" has an empty name/],
  [{ ...good, '/a/x': 'x' }, /"\/a\/x" has an absolute path/],
  [{ ...good, 'a\\x': 'x' }, /backslash/],
  [{ ...good, 'a/x': 'x', 'a/X': 'x' }, /"X" is given twice/],
  [{ ...good, 'a/x': 'x', 'a/x/y': 'y' }, /"x\/y" is in "x", which is a file/],
  [{ ...good, [`a/${'x'.repeat(500)}`]: 'x' }, /more than 500 characters/],
  [{ 'a/SKILL.md': 'no front matter' }, /"a\/SKILL\.md": must start with front matter/],
  [{ 'a/SKILL.md': '---\nname: [\n---\nx' }, /"a\/SKILL\.md": front matter is not valid YAML/],
  [{ 'a/SKILL.md': '---\nname: a\n---\n' }, /"a\/SKILL\.md": has no instructions/],
  [{ 'a/SKILL.md': Buffer.from([0xff, 0xfe]) }, /"a\/SKILL\.md": is not text in UTF-8/],
  [{ 'a/SKILL.md': skillFile('a', 'x'.repeat(300_000)) }, /"a\/SKILL\.md" exceeds/],
  [{ 'a/SKILL.md': skillFile('a', 'x'.repeat(270_000)) }, /content must have at most/],
  [{ 'a.zip': Buffer.from('PK\x03\x04 and no more') }, /zip: the archive is malformed/],
  [Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`a/${at}`, ''])), /more than 500 files/],
]

test('a bad upload is 400 and names the file; nothing is stored', async () => {
  const count = async () => (await done<{ data: unknown[] }>('ana', 'GET /v1/skills?limit=100')).data.length
  const before = await count()
  for (const [files, message] of rejected) {
    const { status, body } = await upload('/v1/skills', files)
    assert.equal(status, 400, body)
    assert.match(JSON.parse(body).error.message, message)
  }
  const inside = await zipOf([{ path: 'a/bb/bb/x', content: Buffer.from('x') }], new Date())
  const outside = Buffer.from(inside.toString('latin1').replaceAll('bb', '..'), 'latin1')
  assert.match((await upload('/v1/skills', { 'a.zip': outside })).body, /has an empty name, \. or \.\./)
  const bomb = await zipOf([{ path: 'a/SKILL.md', content: Buffer.alloc(40_000_000) }], new Date())
  assert.match((await upload('/v1/skills', { 'a.zip': bomb })).body, /exceed 30000000 bytes/)
  assert.equal((await upload('/v1/skills', good, { fields: { display_name: 'a\nb' } })).status, 400)
  const json = { method: 'POST', headers: { 'x-api-key': 'ana', 'content-type': 'application/json' }, body: '{}' }
  const refused = await fetch(`${address}/v1/skills`, json)
  assert.deepEqual([refused.status, /multipart\/form-data/.test(await refused.text())], [415, true])
  assert.equal(await count(), before)
})

test('fields and parameters of the other vendor have no silent effect', async () => {
  const answer = await upload('/v1/skills', good, { fields: { default: 'true', other: 'x' } })
  assert.equal(answer.ignored, 'default, other')
  const { id } = JSON.parse(answer.body) as { id: string }
  const asAnthropic = (url: string, more: object = {}) =>
    app.inject({ url, headers: { 'x-api-key': 'ana', ...anthropic }, ...more })
  assert.equal((await asAnthropic('/v1/skills?order=asc')).statusCode, 400)
  assert.equal((await call('ana', 'GET /v1/skills?source=custom')).statusCode, 400)
  const update = { method: 'POST' as const, payload: { default_version: '1' } }
  assert.equal((await asAnthropic(`/v1/skills/${id}`, update)).statusCode, 400)
  assert.deepEqual((await asAnthropic('/v1/skills?source=anthropic')).json(), {
    data: [],
    has_more: false,
    next_page: null,
  })
  for (const line of ['GET', 'DELETE'].map(method => `${method} /v1/skills/${id}/versions/1`))
    assert.equal((await call('bo', line)).statusCode, 404)
  assert.equal((await call('ana', `GET /v1/skills/${id}/versions/nothing`)).statusCode, 404)
})

test('the folder of a copy has the files of its version; those of another owner are not given', async () => {
  const store = skillVersionStore(database.pool)
  const foldersOf = createAttachedFolders(store)
  const version = (text: string, file: string) => ({ 'rich/SKILL.md': skillFile('rich', text), 'rich/a.txt': file })
  const made = await uploaded<AnthropicSkill>('/v1/skills', version('One.', 'first'))
  const agent = await newAgent()
  const copied = await attach(agent, { skill_id: made.id })
  const prompt = { system: copied.agent.system, skills: [] }
  await uploaded(`/v1/skills/${made.id}/versions`, version('Two.', 'second'))

  const textsFor = async (carrier: Parameters<typeof foldersOf>[0], owners: readonly string[]) => {
    const [folder] = await foldersOf(carrier, owners)
    return (
      folder && [folder.name, folder.paths, ...(await folder.read(['a.txt'])).map(({ content }) => String(content))]
    )
  }
  const files = ['SKILL.md', 'a.txt']
  assert.deepEqual(await textsFor(prompt, ['ana']), ['rich', files, 'first'])
  const edited = { ...prompt, system: prompt.system.replace('One.', 'One and a half.') }
  assert.deepEqual(await textsFor(edited, ['ana']), ['rich', files, 'second'], 'the default version')
  const pinned = { ...edited, skills: [{ id: made.id, name: 'rich', block: '', version: '1' }] }
  assert.deepEqual(await textsFor(pinned, ['ana']), ['rich', files, 'first'])
  assert.equal(await textsFor(prompt, ['bo', '']), undefined)
  assert.deepEqual(await foldersOf({ system: 'No skills.', skills: [] }, ['ana']), [])

  const twin = await uploaded<AnthropicSkill>('/v1/skills', version('Other.', 'twin'))
  const both = (await attach(agent, { skill_id: twin.id })).agent
  const names = (await foldersOf({ system: both.system, skills: [] }, ['ana'])).map(({ name }) => name)
  assert.deepEqual(names, ['rich', 'rich-2'])
})
