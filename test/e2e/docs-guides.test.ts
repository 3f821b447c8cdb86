import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { checkInstalled, realPrograms, skipPrograms } from '../support/acp/acp-programs.ts'
import { blocksOf, isCommand, runBlocks } from '../support/pages/docs-page.ts'
import { startGitHubFake } from '../support/repositories/github-fake.ts'
import { lack } from '../support/service/lack.ts'
import { startService } from '../support/service/service.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { type Recorded, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const root = join(import.meta.dirname, '..', '..')
const blocksIn = (page: string) => blocksOf(page, readFileSync(join(root, page), 'utf8'))
const coding = blocksIn('docs/guides/coding-agent.md')
const webhook = blocksIn('docs/guides/github-webhook.md')
const harness = blocksIn('docs/guides/writing-a-harness.md')
/** What a page adds to the configuration file. */
const settingsIn = (blocks: typeof coding) =>
  blocks
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ code }) => (parse(code) as { runtime_harnesses: { command: string[] }[] }).runtime_harnesses)
const shellOf = (blocks: typeof coding) => blocks.filter(block => isCommand(block) && block.language === 'sh')
const skip = lack('bubblewrap') || lack('socat') || lack('jq') || lack('curl')

const token = 'github_pat_of_the_guides_0123456789'
const github = await startGitHubFake(token)
await github.git.create('acme/shop.git', {
  'price.sh': 'echo 41\n',
  'test.sh': '[ "$(sh price.sh)" = 42 ] && echo tests pass\n',
})

/** Plays a model for Claude Code: runs the commands of the prompt that are between backquotes, one per call. */
function script({ rawBody }: Recorded): Answer {
  const { messages, tools = [] } = JSON.parse(rawBody.toString()) as {
    messages: { role: string; content: string | { type: string; text?: string }[] }[]
    tools?: { name: string }[]
  }
  const name = tools.find(tool => tool.name === 'Bash')?.name
  const blocks = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const at = blocks.findLastIndex(({ text = '' }) => /run `/i.test(text))
  const commands = [...(blocks[at]?.text ?? '').matchAll(/run `([^`]+)`/gi)].map(([, command]) => command)
  const done = blocks.slice(at + 1).filter(({ type }) => type === 'tool_result').length
  const command = commands[done]
  if (!name || command === undefined) return { text: 'The price is correct now.' }
  return { tool_calls: [{ name, input: { command, description: 'Work' } }] }
}

const upstream = await startScriptedUpstream({ script })
after(() => upstream.stop())

// Where the users of sandboxes can read it.
const programs = await mkdtemp(join(tmpdir(), 'switchyard-agents-'))
after(() => rm(programs, { recursive: true, force: true }))
await chmod(programs, 0o755)
const agentFile = join(programs, 'minimal-agent.mjs')
await writeFile(agentFile, harness.find(({ language }) => language === 'js')?.code ?? '')
const installed = (command: readonly string[]) =>
  command[0] === 'claude-agent-acp'
    ? realPrograms.claude.command
    : command.map(part => part.replace('/opt/agents', programs))

const configured = JSON.parse(configFor(upstream))
const service = await startService({
  config: JSON.stringify({
    ...configured,
    outbound: { allow: [...configured.outbound.allow, github.git.host, github.apiHost] },
    git_hosts: [{ host: github.git.host, type: 'github', api_base: github.apiUrl, credential: 'git.github.com' }],
    runtime_harnesses: [...settingsIn(coding), ...settingsIn(harness)].map(({ command, ...entry }) => ({
      ...entry,
      command: installed(command),
    })),
  }),
})

/** GitHub of the test in place of github.com; git of the reader asks for no password. */
const replaced = (text: string) =>
  text
    .replaceAll('https://api.github.com', github.apiUrl)
    .replaceAll('https://github.com', github.git.url)
    .replaceAll('"reply": {', `"reply": {"url": "${github.apiUrl}", `)
const authorization = `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
const env = {
  GITHUB_TOKEN: token,
  CLAUDE_MODEL: 'scripted',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'http.extraHeader',
  GIT_CONFIG_VALUE_0: authorization,
}
const run = async (blocks: typeof coding) => {
  const { code, output } = await runBlocks(shellOf(blocks), { service, replaced, env, maxMs: 900_000 })
  assert.equal(code, 0, `${output}\n${service.logs().slice(-4_000)}`)
  return output
}
const branches = () => github.git.git('acme/shop.git', 'for-each-ref', '--format=%(refname:short)')

test('docs/guides/coding-agent.md: a patch, an approved push, a pull request, and the same on Claude Code', {
  skip: skip || skipPrograms,
}, async () => {
  checkInstalled(realPrograms.claude)
  const output = await run(coding)
  assert.match(output, /-echo 41\n\+echo 42/)
  assert.match(output, /tests pass/)
  const [, own, claude] = [undefined, ...github.pulls]
  assert.equal(github.pulls.length, 2)
  assert.deepEqual([own?.base, own?.title], ['main', 'Correct the price of a box'])
  assert.match(claude?.body ?? '', /The price is correct now/)
  for (const branch of (await branches()).split('\n').filter(name => name !== 'main'))
    assert.equal(await github.git.git('acme/shop.git', 'show', `${branch}:price.sh`), 'echo 42', branch)
  assert.equal((await branches()).split('\n').length, 4, 'main, the approved push and two pull requests')
})

test('docs/guides/github-webhook.md: a labelled issue becomes a pull request and a comment', { skip }, async () => {
  const before = github.pulls.length
  await run(webhook)
  // They overlap on a busy machine.
  assert.deepEqual(
    new Set(github.deliveries.map(({ event, status }) => `${event} ${status}`)),
    new Set(['ping 202', 'issues.opened 202', 'issues.labeled 202']),
  )
  const [pull, ...others] = github.pulls.slice(before)
  assert.deepEqual([pull?.title, pull?.base, others], ['A box costs 41', 'main', []])
  assert.equal(await github.git.git('acme/shop.git', 'show', `${pull?.branch}:price.sh`), 'echo 42')
  const [issue] = github.issues
  assert.equal(issue?.comments.length, 1)
  assert.match(issue?.comments[0]?.body ?? '', /tests pass/)
})

test('docs/guides/writing-a-harness.md: the agent of the page runs, asks, and passes the suite for runtimes', {
  skip,
}, async () => {
  const output = await run(harness)
  assert.match(output, /✓ minimal: \d+ passed/)
  assert.doesNotMatch(output, /^\S+ +failed/m)
})
