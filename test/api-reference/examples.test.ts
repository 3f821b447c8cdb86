import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Value from 'typebox/value'
import { allRoutes } from '../../src/contract/api.ts'
import { examples } from '../../src/contract/examples/all.ts'
import { filled, sampleId } from '../../src/contract/examples/example.ts'
import { successStatus } from '../../src/contract/route.ts'
import { startExampleProviders } from '../support/reference/example-providers.ts'
import { exampleOf, type Operation, runExample } from '../support/reference/example-run.ts'
import { hasSameNames } from '../support/reference/recorded-response.ts'
import { startService } from '../support/service/service.ts'

const file = join(import.meta.dirname, '../../src/server/http/openapi/recorded-responses.json')
const stored = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>
/** True in `npm run examples`, which writes the responses instead of comparing them. */
const isRecording = process.env['SWITCHYARD_RECORD_EXAMPLES'] === '1'
const fresh = new Map<string, unknown>()

const providers = await startExampleProviders()
after(() => providers.stop())
const service = await startService({ config: providers.config })
after(() => {
  if (!isRecording) return
  const inOrder = allRoutes.filter(({ id }) => fresh.has(id)).map(({ id }) => [id, fresh.get(id)])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
})

const responseSchema = (operation: Operation) => operation.responses[successStatus(operation)] ?? undefined

test('every example belongs to an operation, and every operation with a JSON body has one', () => {
  const ids = new Set(allRoutes.map(({ id }) => id))
  for (const id of Object.keys(examples)) assert.ok(ids.has(id), id)
  const missing = allRoutes.filter(
    ({ id, body, consumes, bodyOptional }) => body && !consumes && !bodyOptional && examples[id] === undefined,
  )
  assert.deepEqual(
    missing.map(({ id }) => id),
    [],
  )
})

for (const operation of allRoutes) {
  const { id, body } = operation
  const { body: example, notRun } = exampleOf(operation)
  if (body && example !== undefined)
    test(`${id}: the example of the request matches its schema`, () => {
      assert.deepEqual(Value.Errors(body, filled(example, sampleId)), [])
    })
  if (notRun === undefined)
    test(`${id}: the example runs`, async () => {
      const response = await runExample(service, operation)
      const schema = responseSchema(operation)
      if (response.body !== undefined && schema) assert.deepEqual(Value.Errors(schema, response.body), [])
      fresh.set(id, response.recorded)
      if (!isRecording)
        assert.ok(hasSameNames(response.recorded, stored[id]), 'the recorded response is out of date: npm run examples')
    })
}

test('every recorded response matches the schema of its operation', { skip: isRecording }, () => {
  for (const operation of allRoutes.filter(({ id }) => id in stored)) {
    const schema = responseSchema(operation)
    assert.ok(schema, operation.id)
    assert.deepEqual(Value.Errors(schema, stored[operation.id]), [], operation.id)
  }
})
