import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { blocksOf, shownAs } from '../support/pages/docs-page.ts'
import { launchChromium } from '../support/service/chromium.ts'
import { installClientPackage } from '../support/service/client-package.ts'
import { lack } from '../support/service/lack.ts'
import { startService } from '../support/service/service.ts'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const page = 'docs/client-library.md'
const blocks = blocksOf(page, readFileSync(join(root, page), 'utf8'))
const service = await startService()
const folder = await installClientPackage()
const env = {
  ...process.env,
  SWITCHYARD_URL: service.url,
  SWITCHYARD_KEY: service.key,
  GATEWAY_MASTER_KEY: service.key,
}

for (const block of blocks.filter(({ language, mark }) => language === 'sh' && mark === undefined))
  test(`${shownAs(block)} runs in a shell`, { skip: lack('curl') }, async () => {
    await run('bash', ['-euo', 'pipefail', '-c', block.code], { env })
  })

for (const block of blocks.filter(({ language }) => language === 'js'))
  test(`${shownAs(block)} runs on the packed package`, async () => {
    const file = join(folder, `line-${block.line}.mjs`)
    await writeFile(file, block.code)
    const { stdout } = await run(process.execPath, [file], { env, timeout: 60_000 })
    assert.notEqual(stdout, '')
  })

test('the compiled client imports no module of Node and no code of the server', () => {
  const dist = join(folder, 'node_modules', '@switchyard-project', 'switchyard', 'dist')
  const files = globSync('**/*.js', { cwd: dist })
  assert.ok(files.length > 20)
  for (const file of files) {
    assert.match(file, /^(client|contract)\//)
    const sources = [...readFileSync(join(dist, file), 'utf8').matchAll(/^(?:import|export) .*from ["'](.*)["']/gm)]
    for (const [, source = ''] of sources) assert.match(source, /^(\.\.?\/|typebox$)/, file)
  }
})

const typed = `import { type Agent, ApiError, type Client, createClient, readEvents } from '@switchyard-project/switchyard/client'

const client: Client = createClient({ baseUrl: 'http://localhost:4000', key: 'sk-none' })
export async function started(owner_id: string): Promise<string> {
  const agent: Agent = await client.agents.create({ body: { name: 'Typed', owner_id } })
  const { id } = await client.sessions.create({ body: { agent: agent.id } })
  for await (const { ephemeral, event } of readEvents({ client, sessionId: id })) if (!ephemeral) return String(event.seq)
  return id
}
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404
// @ts-expect-error owner_id is missing
export const wrongBody = () => client.agents.create({ body: { name: 'Typed' } })
// @ts-expect-error the operation does not exist
export const wrongName = () => client.agents.invent()
`

for (const [module, resolution] of [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])
  test(`a typed program compiles against the packed types, with moduleResolution ${resolution}`, async () => {
    const file = join(folder, `typed-${resolution}.mts`)
    await writeFile(file, typed)
    const tsc = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc')
    const options = { noEmit: true, strict: true, lib: ['esnext', 'dom', 'dom.iterable'], types: [] }
    const project = join(folder, `tsconfig-${resolution}.json`)
    const compilerOptions = { ...options, module, moduleResolution: resolution }
    await writeFile(project, JSON.stringify({ compilerOptions, files: [file] }))
    const compiled = run(process.execPath, [tsc, '-p', project])
    await compiled.catch((error: { stdout?: string }) => assert.fail(error.stdout ?? String(error)))
  })

/** Returns the page of the example, with the map that a bundler makes unnecessary. */
function examplePage(): string {
  const html = blocks.find(({ language }) => language === 'html')?.code ?? assert.fail('the page has no example')
  const imports = {
    '@switchyard-project/switchyard/client': '/node_modules/@switchyard-project/switchyard/dist/client/index.js',
    typebox: '/node_modules/typebox/build/index.mjs',
  }
  return html.replace('<title>', `<script type="importmap">${JSON.stringify({ imports })}</script>\n<title>`)
}

/** Serves the example and the installed packages, and passes every other request on to the service: one origin. */
async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(incoming.url ?? '/', service.url).pathname
  if (path === '/example') return void response.setHeader('content-type', 'text/html').end(examplePage())
  if (path.startsWith('/node_modules/')) {
    const source = await readFile(join(folder, path)).catch(() => undefined)
    return void response.writeHead(source ? 200 : 404, { 'content-type': 'text/javascript' }).end(source)
  }
  const { host: _, ...headers } = incoming.headers
  const onward = request(`${service.url}${incoming.url}`, { method: incoming.method, headers }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  incoming.pipe(onward)
}

test('the example runs in a browser', { skip: lack('chromium') }, async () => {
  const server = createServer((incoming, response) => void serve(incoming, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const browser = await launchChromium()
  after(() => browser.close())
  const tab = await browser.newPage()
  const complaints: string[] = []
  tab.on('pageerror', error => complaints.push(error.message))
  await tab.addInitScript(`sessionStorage.setItem('key', ${JSON.stringify(service.key)})`)
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/example`)
  await tab.locator('li', { hasText: 'session.status_idle' }).waitFor({ timeout: 30_000 })
  assert.deepEqual(complaints, [])
})
