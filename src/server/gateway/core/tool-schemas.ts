import { isOpenAiFormat } from '../../config/protocols.ts'
import {
  isRecord,
  type Json,
  listOf,
  recordOf,
  recordsOf,
  textOf,
  withAllMembers,
  withEntries,
} from '../../platform/json.ts'
import { isClaude } from '../formats/shared/model-traits.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/** Keywords that combine schemas. */
const combining = ['allOf', 'anyOf', 'oneOf'] as const

/**
 * Returns the request with one object as the schema of each tool. Claude and OpenAI reject a combination of schemas at
 * the top level, which other providers and MCP allow.
 */
export function withObjectSchemas(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { provider } = target.deployment
  const isOpenAi = isOpenAiFormat(target.protocol) && (provider === 'openai' || provider === 'azure')
  if (!isOpenAi && !isClaude(target)) return request
  return withEntries(request, 'tools', (tool, index) => {
    const schema = recordOf(recordOf(tool)['input_schema'])
    if (!isRecord(tool) || !combining.some(keyword => Array.isArray(schema[keyword]))) return tool
    note(`tools.${index}.input_schema`, 'simplified')
    return { ...tool, input_schema: objectOf(schema) }
  })
}

/** Returns an object with the properties of all branches. It requires only what every branch of `allOf` adds up to. */
function objectOf(schema: Json): Json {
  const { allOf, anyOf, oneOf, ...own } = schema
  const all = branchesOf(allOf, schema)
  const branches = [...all, ...branchesOf(anyOf, schema), ...branchesOf(oneOf, schema)]
  const properties = withAllMembers([...branches, own].map(each => each['properties']))
  const required = new Set([own, ...all].flatMap(branch => listOf(branch['required'])))
  return { ...own, type: 'object', properties, ...(required.size > 0 && { required: [...required] }) }
}

/**
 * Returns the schemas of a list. A reference is resolved when it names a definition of the whole schema; repeated ones add
 * nothing.
 */
function branchesOf(list: unknown, schema: Json): readonly Json[] {
  const branches = recordsOf(list).map(branch => {
    const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(textOf(branch['$ref'])) ?? []
    return place === undefined || name === undefined ? branch : recordOf(recordOf(schema[place])[name])
  })
  return [...new Set(branches)]
}
