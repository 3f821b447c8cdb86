import fastJsonStringify, { type Schema } from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

/**
 * Returns the serializers of responses. A schema is compiled for its first response: compiling all of them would take a
 * quarter of the start.
 */
export function createSerializerCompiler(): FastifySerializerCompiler<unknown> {
  return ({ schema }) => {
    let serialize: ((value: unknown) => string) | undefined
    return (value: unknown) => {
      serialize ??= fastJsonStringify(schema as Schema)
      return serialize(value)
    }
  }
}
