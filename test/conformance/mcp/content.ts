// What the conformance suites expect of a server, by the names that they use. Both servers have it.

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=='

export const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
const embedded = (uri: string, mimeType = 'text/plain') => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: mimeType === 'application/json' ? '{"value":1}' : 'Content of the resource' },
})

/** Results of tools that need no arguments. */
export const fixedResults = {
  test_simple_text: text('This is a simple text response for testing.'),
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: 'audio' as const, data: wav, mimeType: 'audio/wav' }] },
  test_embedded_resource: { content: [embedded('test://embedded-resource')] },
  test_multiple_content_types: {
    content: [
      { type: 'text' as const, text: 'Several types of content:' },
      image,
      embedded('test://mixed-content-resource', 'application/json'),
    ],
  },
  test_error_handling: { ...text('This tool intentionally returns an error for testing'), isError: true },
} as const

export const isFixed = (name: string): name is keyof typeof fixedResults => Object.hasOwn(fixedResults, name)

const noInput = { type: 'object' as const, properties: {} }
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

/** Descriptions of tools, with the schema of those that have one. */
export const listedTools = (names: readonly string[], schemas: Readonly<Record<string, typeof noInput>> = {}) => [
  ...names.map(name => ({ name, description: `Conformance tool ${name}`, inputSchema: schemas[name] ?? noInput })),
  { name: 'json_schema_2020_12_tool', description: 'Has a schema of 2020-12', inputSchema: schema2020 },
]

export const resources = [
  { uri: 'test://static-text', name: 'static-text', description: 'A text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched-resource', description: 'Can be watched', mimeType: 'text/plain' },
]
export const resourceTemplates = [
  { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'By id', mimeType: 'application/json' },
]

/** Returns the contents of a resource; undefined for an unknown one. */
export function contentsOf(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined)
    return {
      uri,
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }
  const known = resources.find(resource => resource.uri === uri)
  if (!known) return undefined
  const { mimeType } = known
  return mimeType === 'image/png' ? { uri, mimeType, blob: png } : { uri, mimeType, text: `Content of ${uri}` }
}

const argument = (name: string) => ({ name, description: `Argument ${name}`, required: true })
export const prompts = [
  { name: 'test_simple_prompt', description: 'Has no arguments' },
  { name: 'test_prompt_with_arguments', description: 'Has arguments', arguments: [argument('arg1'), argument('arg2')] },
  { name: 'test_prompt_with_embedded_resource', description: 'Has a resource', arguments: [argument('resourceUri')] },
  { name: 'test_prompt_with_image', description: 'Has an image' },
]

const user = <Content>(content: Content) => ({ role: 'user' as const, content })
const says = (value: string) => user({ type: 'text' as const, text: value })

/** Returns the messages of a prompt; undefined for an unknown one. */
export function messagesOf(name: string, given: Readonly<Record<string, string>> = {}) {
  switch (name) {
    case 'test_simple_prompt':
      return [says('This is a simple prompt for testing.')]
    case 'test_prompt_with_arguments':
      return [says(`Prompt with arguments: arg1='${given['arg1']}', arg2='${given['arg2']}'`)]
    case 'test_prompt_with_embedded_resource':
      return [user(embedded(given['resourceUri'] ?? '')), says('Process the resource above.')]
    case 'test_prompt_with_image':
      return [user(image), says('Describe the image above.')]
    default:
      return undefined
  }
}

export const stepsOf = (progressToken: string | number) =>
  [0, 50, 100].map(progress => ({ progressToken, progress, total: 100, message: `Completed step ${progress} of 100` }))

const options = (prefix: string) => [1, 2, 3].map(at => `${prefix}${at}`)
const titled = (prefix: string) => options(prefix).map(value => ({ const: value, title: `Option ${value}` }))

/** Forms of elicitations, by the name of the tool. */
export const forms = {
  test_elicitation_sep1034_defaults: {
    type: 'object' as const,
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  },
  test_elicitation_sep1330_enums: {
    type: 'object' as const,
    properties: {
      untitledSingle: { type: 'string', enum: options('option') },
      titledSingle: { type: 'string', oneOf: titled('value') },
      legacyEnum: { type: 'string', enum: options('opt'), enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: options('option') } },
      titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('value') } },
    },
  },
}

/** A form with one field. */
export const formWith = (field: string, type = 'string') => ({
  type: 'object' as const,
  properties: { [field]: { type } },
  required: [field],
})

export const logLines = ['Tool execution started', 'Tool processing data', 'Tool execution completed']
