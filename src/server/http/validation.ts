import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { patternWords } from '../../contract/pattern-words.ts'
import { relevantErrors } from './tagged-unions.ts'

/**
 * Compiles the schemas of routes. Bodies are validated without coercion. Query and path values are text, so numbers and
 * booleans are parsed.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<TSchema> {
  const shared = {
    removeAdditional: false,
    useDefaults: true,
    allErrors: false,
    strict: false,
    validateFormats: false,
    // Errors then include schema and data, which `relevantErrors` needs.
    verbose: true,
  } as const
  const strict = new Ajv({ ...shared, coerceTypes: false })
  const coercing = new Ajv({ ...shared, coerceTypes: 'array' })
  return ({ schema, httpPart }) => compiledAtFirstUse(() => (httpPart === 'body' ? strict : coercing).compile(schema))
}

/** Compiles a schema on first use, because compiling all of them would delay the start. */
function compiledAtFirstUse(compile: () => ValidateFunction) {
  let compiled: ValidateFunction | undefined
  return (data: unknown) => {
    compiled ??= compile()
    return compiled(data) ? {} : { error: [...relevantErrors(compiled.errors ?? [])] }
  }
}

/** Returns a message with the field: `parts[0].text must be string`. */
export function validationMessage(errors: readonly FastifySchemaValidationError[], httpPart: string): string {
  const error = mostSpecific(errors)
  if (!error) return 'invalid request'
  const kind = otherKind(error)
  if (kind !== undefined) return `${fieldPath(error.instancePath, 'type')} must be ${JSON.stringify(kind)}`
  const missing = error.params['missingProperty']
  const path = fieldPath(error.instancePath, typeof missing === 'string' ? missing : undefined)
  if (error.keyword === 'required') return `${path} is required`
  const where = path === '' ? (httpPart === 'querystring' ? 'query' : httpPart) : path
  return `${where} ${reasonOf(error)}`
}

/** Returns the expected `type` if an object lacks a field because it has another `type`. */
function otherKind({ keyword, parentSchema, data }: Partial<ErrorObject>): unknown {
  const kind: unknown = parentSchema?.['properties']?.type?.const
  const given: unknown = (data as { type?: unknown } | null | undefined)?.type
  return keyword === 'required' && kind !== undefined && given !== undefined && given !== kind ? kind : undefined
}

/**
 * Returns the most specific error. For alternatives ajv reports one error per branch: branches that fail at a constant
 * or at null are ignored unless all do; of the others the deepest error is the most specific.
 */
function mostSpecific(errors: readonly FastifySchemaValidationError[]): FastifySchemaValidationError | undefined {
  const branches = errors.filter(({ keyword, params }) => keyword !== 'anyOf' && params['type'] !== 'null')
  const relevant = branches.filter(({ keyword }) => keyword !== 'const')
  const [first, ...rest] = relevant.length > 0 ? relevant : branches
  if (!first) return errors[0]
  if (relevant.length === 0 && rest.length > 0) return oneOf(branches, first)
  return rest.reduce((best, error) => (error.instancePath.length > best.instancePath.length ? error : best), first)
}

/** Combines several allowed constants into one error. */
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
  parentSchema,
}: Pick<ErrorObject, 'keyword' | 'params' | 'message'> & Partial<Pick<ErrorObject, 'parentSchema'>>): string {
  switch (keyword) {
    case 'false schema':
      return 'is not allowed together with the other fields of this object'
    case 'additionalProperties':
      // Without named properties the name itself is not allowed, such as a name that is too long.
      return parentSchema?.['properties']
        ? `has the unknown field ${JSON.stringify(params['additionalProperty']).slice(0, 200)}`
        : message
    case 'pattern':
      return patternWords[String(params['pattern'])] ?? 'has an invalid format'
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : message
    case 'maxItems':
      return `must have at most ${params['limit']} items`
    case 'minItems':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} items`
    default:
      return message
  }
}

/** Converts `/parts/0/text` and a missing property to `parts[0].text.missing`. */
function fieldPath(pointer: string, missing: string | undefined): string {
  const steps = pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (missing !== undefined) steps.push(missing)
  return steps.map((step, at) => (/^\d+$/.test(step) ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('')
}
