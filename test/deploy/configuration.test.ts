import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Document, parse, parseDocument } from 'yaml'
import { fileShape } from '../../scripts/configuration-shape.ts'
import { settings, variables } from '../../scripts/reference-settings.ts'
import { readShape } from '../../src/server/config/yaml-shape.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const isValid = new Ajv2020({ allErrors: true }).compile(JSON.parse(read('docs/reference/configuration.schema.json')))
const example = read('switchyard.example.yaml')
/** The example with every setting set. */
const everything = example.replaceAll(/^# /gm, '')

test('the example of the configuration sets nothing, and names its schema for editors', () => {
  assert.equal(parse(example), null)
  assert.match(example, /^# yaml-language-server: \$schema=docs\/reference\/configuration\.schema\.json\n/)
})

test('every setting of the example is one that the service reads, and fits the schema', async () => {
  // Its first line has one # as well.
  const document = parseDocument(everything.replace(/^yaml-language-server.*/, ''))
  assert.deepEqual(document.errors, [])
  const problems: string[] = []
  const report = (problem: string): void => void problems.push(problem)
  readShape(document, await fileShape(), { report, warn: report, variable: () => 'value' })
  assert.deepEqual(problems, [])
  assert.ok(isValid(document.toJS()), JSON.stringify(isValid.errors))
})

test('the example has every setting of the reference', () => {
  const value: unknown = parse(everything.replace(/^yaml-language-server.*/, ''))
  for (const path of Object.keys(settings)) {
    if (path.startsWith('model_list[].litellm_params')) continue
    const found = path.split('.').reduce<unknown>((inner, key) => {
      const entry = (inner as Record<string, unknown> | undefined)?.[key.replace('[]', '')]
      return key.endsWith('[]') && Array.isArray(entry) ? entry[0] : entry
    }, value)
    assert.notEqual(found, undefined, path)
  }
})

test('the schema rejects what the service rejects', () => {
  for (const wrong of ['limits: {max_stream: 1}', 'demo: "yes"', 'limits: {max_streams: 0}', 'model_list: {}'])
    assert.equal(isValid(new Document(parse(wrong)).toJS()), false, wrong)
})

test('the example of the environment has every variable, and sets none', () => {
  const lines = read('.env.example').split('\n')
  for (const name of Object.keys(variables)) assert.ok(lines.includes(`#${name}=`), name)
  assert.ok(lines.every(line => line === '' || line.startsWith('#')))
})
