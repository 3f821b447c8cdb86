import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { patternWords } from '../../contract/pattern-words.ts'
import { meantErrors } from './tagged-unions.ts'

/**
 * Compiles the schemas of routes. Bodies are checked as they are; query and path values arrive as text, so numbers and
 * booleans are read from it there.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<TSchema> {
  const shared = {
    removeAdditional: false,
    useDefaults: true,
    allErrors: false,
    strict: false,
    validateFormats: false,
    // Errors then carry what alternatives are told apart by.
    verbose: true,
  } as const
  const strict = new Ajv({ ...shared, coerceTypes: false })
  const coercing = new Ajv({ ...shared, coerceTypes: 'array' })
  return ({ schema, httpPart }) => compiledAtFirstUse(() => (httpPart === 'body' ? strict : coercing).compile(schema))
}

/** Most schemas wait long for their first request, and compiling all of them would hold up the start. */
function compiledAtFirstUse(compile: () => ValidateFunction) {
  let compiled: ValidateFunction | undefined
  return (data: unknown) => {
    compiled ??= compile()
    return compiled(data) ? {} : { error: [...meantErrors(compiled.errors ?? [])] }
  }
}

/** A check's result in words that name the field: `parts[0].text must be string`. */
export function validationMessage(errors: readonly FastifySchemaValidationError[], httpPart: string): string {
  const error = mostSpecific(errors)
  if (!error) return 'the request is not valid'
  const kind = otherKind(error)
  if (kind !== undefined) return `${fieldPath(error.instancePath, 'type')} must be ${JSON.stringify(kind)}`
  const missing = error.params['missingProperty']
  const path = fieldPath(error.instancePath, typeof missing === 'string' ? missing : undefined)
  if (error.keyword === 'required') return `${path} is required`
  const where = path === '' ? (httpPart === 'querystring' ? 'query' : httpPart) : path
  return `${where} ${reasonOf(error)}`
}

/** The one `type` that an object may have, when it lacks a field because it is of another. */
function otherKind({ keyword, parentSchema, data }: Partial<ErrorObject>): unknown {
  const kind: unknown = parentSchema?.['properties']?.type?.const
  const given: unknown = (data as { type?: unknown } | null | undefined)?.type
  return keyword === 'required' && kind !== undefined && given !== undefined && given !== kind ? kind : undefined
}

/**
 * With alternatives ajv reports one error a branch. A branch that fails by its constant is not the one that was meant,
 * unless all do, and null is never meant by something else; of the rest the deepest error says most.
 */
function mostSpecific(errors: readonly FastifySchemaValidationError[]): FastifySchemaValidationError | undefined {
  const branches = errors.filter(({ keyword, params }) => keyword !== 'anyOf' && params['type'] !== 'null')
  const meant = branches.filter(({ keyword }) => keyword !== 'const')
  const [first, ...rest] = meant.length > 0 ? meant : branches
  if (!first) return errors[0]
  if (meant.length === 0 && rest.length > 0) return oneOf(branches, first)
  return rest.reduce((best, error) => (error.instancePath.length > best.instancePath.length ? error : best), first)
}

/** Several constants that the value may be, as one error. */
function oneOf(
  branches: readonly FastifySchemaValidationError[],
  first: FastifySchemaValidationError,
): FastifySchemaValidationError {
  const values = branches.map(({ params }) => JSON.stringify(params['allowedValue']))
  return { ...first, keyword: 'enum', message: `must be one of ${values.join(', ')}` }
}

function reasonOf({
  keyword,
  params,
  message = 'is not valid',
}: Pick<ErrorObject, 'keyword' | 'params' | 'message'>): string {
  switch (keyword) {
    case 'false schema':
      return 'is not allowed together with the other fields of this object'
    case 'pattern':
      return patternWords[String(params['pattern'])] ?? 'has a form that is not valid'
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : message
    case 'maxItems':
      return `must hold at most ${params['limit']} items`
    case 'minItems':
      return params['limit'] === 1 ? 'must not be empty' : `must hold at least ${params['limit']} items`
    default:
      return message
  }
}

/** `/parts/0/text` and a missing property as `parts[0].text.missing`. */
function fieldPath(pointer: string, missing: string | undefined): string {
  const steps = pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (missing !== undefined) steps.push(missing)
  return steps.map((step, at) => (/^\d+$/.test(step) ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('')
}
