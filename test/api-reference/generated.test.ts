import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { startService } from '../support/service/service.ts'

const here = import.meta.dirname
const stories = join(here, 'stories')
const generated = join(stories, 'generated')
const tool = (name: string) => join(here, 'node_modules', '.bin', name)
const run = promisify(execFile)
const service = await startService()

before(async () => {
  await rm(generated, { recursive: true, force: true })
  await mkdir(generated, { recursive: true })
  const document = join(generated, 'openapi.json')
  await writeFile(document, await (await fetch(`${service.url}/openapi.json`)).text())
  const settings = join(generated, 'hey-api.config.mjs')
  await writeFile(
    settings,
    `export default ${JSON.stringify({
      input: document,
      output: { path: join(generated, 'hey-api'), module: { extension: '.ts' } },
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    })}`,
  )
  await Promise.all([
    run(process.execPath, [tool('openapi-ts'), '-f', settings]),
    run(process.execPath, [tool('openapi-typescript'), document, '-o', join(generated, 'openapi-typescript.d.ts')]),
  ])
})

test('stories on generated clients compile with the named types of the document', async () => {
  const compiled = run(process.execPath, [tool('tsc'), '-p', stories])
  await compiled.catch((error: { stdout?: string }) => assert.fail(error.stdout ?? String(error)))
})

for (const name of ['hey-api', 'openapi-typescript'])
  test(`the story of the tutorial runs on a client generated with ${name}`, async () => {
    const story = (await import(join(stories, `${name}.ts`))) as {
      run(url: string, key: string): Promise<{ text: string; memories: string[] }>
    }
    const { text, memories } = await story.run(service.url, service.key)
    assert.notEqual(text, '')
    assert.deepEqual(memories, ['Deploy on Tuesdays'])
  })
