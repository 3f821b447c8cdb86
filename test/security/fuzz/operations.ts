import { examples } from '../../../src/contract/examples/all.ts'
import type { Example } from '../../../src/contract/examples/example.ts'
import { send, type Target } from '../../support/service/send.ts'

/** A JSON Schema of the document. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: Schema
}

/** An operation of the document that the service serves, with the example of its request, in which placeholders stand for ids. */
export interface FuzzedOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** Content type of its body; undefined if it takes none. */
  readonly consumes: string | undefined
  readonly body: Schema | undefined
  readonly example: Example
}

interface Described {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
}

/** The document of a running service. */
export interface ServedDocument {
  readonly document: Record<string, unknown>
  readonly operations: readonly FuzzedOperation[]
  /** Schemas that `$ref` names. */
  readonly schemas: Readonly<Record<string, Schema>>
}

/** Reads the OpenAPI document that a service serves. */
export async function servedDocument(target: Target): Promise<ServedDocument> {
  const document = (await send(target, 'GET /openapi.json')).json()
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Described>>>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(method.toUpperCase(), path, described)),
  )
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Schema>> }
  // Deletions come last, because other operations need what they delete.
  return { document, operations: operations.toSorted((a, b) => weightOf(a) - weightOf(b)), schemas }
}

const weightOf = ({ method }: FuzzedOperation): number => Number(method === 'DELETE')

function operationOf(method: string, path: string, described: Described): FuzzedOperation {
  const { operationId: id, parameters = [], requestBody } = described
  const [[consumes, content] = []] = Object.entries(requestBody?.content ?? {})
  return { id, method, path, parameters, consumes, body: content?.schema, example: examples[id] ?? {} }
}
