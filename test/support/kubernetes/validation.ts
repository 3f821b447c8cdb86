import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { Pod } from 'kubernetes-models/v1/Pod'
import { isRecord, type Json, listOf, recordOf, recordsOf } from '../../../src/server/platform/json.ts'

const require = createRequire(import.meta.url)
const models = dirname(require.resolve('kubernetes-models/package.json'))
const labels = {
  type: 'object',
  additionalProperties: { type: 'string', pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$' },
}
const texts = { type: 'object', additionalProperties: { type: 'string' } }
const objectName = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }

/** The schema of `agents.x-k8s.io/v1beta1` Sandbox, without the claims of a template, which the service does not use. */
const sandboxSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  properties: {
    apiVersion: { const: 'agents.x-k8s.io/v1beta1' },
    kind: { const: 'Sandbox' },
    metadata: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: objectName, labels, annotations: texts },
    },
    spec: {
      type: 'object',
      additionalProperties: false,
      required: ['podTemplate'],
      properties: {
        operatingMode: { enum: ['Running', 'Suspended'] },
        service: { type: 'boolean' },
        shutdownTime: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' },
        shutdownPolicy: { enum: ['Delete', 'Retain'] },
        podTemplate: {
          type: 'object',
          additionalProperties: false,
          required: ['spec'],
          properties: {
            metadata: { type: 'object', additionalProperties: false, properties: { labels, annotations: texts } },
            spec: { type: 'object' },
          },
        },
      },
    },
  },
}

const isSandbox = new Ajv({ allErrors: true }).compile(sandboxSchema)

/** Returns what the API server would reject about a Sandbox; undefined for a valid one. */
export function problemOfSandbox(sandbox: Json): string | undefined {
  if (!isSandbox(sandbox))
    return isSandbox.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join()
  const spec = recordOf(recordOf(recordOf(sandbox['spec'])['podTemplate'])['spec'])
  const pod = { metadata: { name: 'pod' }, spec }
  return (
    modelProblem(() => new Pod(pod as unknown as ConstructorParameters<typeof Pod>[0]).validate()) ??
    unknownField(spec, 'v1/PodSpec', 'spec') ??
    problemOfReferences(spec)
  )
}

export function problemOfPolicy(policy: Json): string | undefined {
  const { spec } = policy
  return (
    modelProblem(() =>
      new NetworkPolicy(policy as unknown as ConstructorParameters<typeof NetworkPolicy>[0]).validate(),
    ) ?? unknownField(recordOf(spec), 'networking.k8s.io/v1/NetworkPolicySpec', 'spec')
  )
}

/** Returns the message of what `validate` throws. */
export function modelProblem(validate: () => void): string | undefined {
  try {
    validate()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Every mount names a volume, and no path is absolute or leads out of its volume. */
function problemOfReferences(spec: Json): string | undefined {
  const volumes = new Set(recordsOf(spec['volumes']).map(({ name }) => name))
  for (const container of recordsOf(spec['containers'])) {
    for (const { name, subPath } of recordsOf(container['volumeMounts'])) {
      if (!volumes.has(name)) return `volumeMounts: volume ${name} not found`
      if (typeof subPath === 'string' && /^\/|(^|\/)\.\.(\/|$)/.test(subPath)) return `subPath ${subPath} is invalid`
    }
  }
  return undefined
}

interface Fields {
  /** Module of the type of each field; undefined for values without fields of their own. */
  readonly types: ReadonlyMap<string, string | undefined>
}

const cache = new Map<string, Fields>()

/** Returns the path of the first field that the type does not have, as the strict validation of the API server does. */
export function unknownField(value: unknown, model: string, path: string): string | undefined {
  if (Array.isArray(value)) return firstOf(value.map((entry, at) => () => unknownField(entry, model, `${path}[${at}]`)))
  if (!isRecord(value)) return undefined
  const { types } = fieldsOf(model)
  return firstOf(
    Object.entries(value).map(([name, inner]) => () => {
      if (!types.has(name)) return `unknown field "${path}.${name}"`
      const type = types.get(name)
      return type && unknownField(inner, type, `${path}.${name}`)
    }),
  )
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check()
    if (problem) return problem
  }
  return undefined
}

/** Reads the fields of a model from its type declaration. */
function fieldsOf(model: string): Fields {
  const known = cache.get(model)
  if (known) return known
  const text = readFileSync(join(models, `${model}.d.ts`), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const modules = new Map(
    [...text.matchAll(/^import \{ (\w+) \} from "(\.[\w./-]*)\.js";$/gm)].map(([, name = '', file = '']) => [
      name,
      file,
    ]),
  )
  const [, body = ''] = /export interface \w+[^{]*\{\n([\s\S]*?)\n\}/.exec(text) ?? []
  const fields = [...body.matchAll(/^ {4}"(\w+)"\??: (?:Array<)?(\w+)?/gm)]
  const types = new Map(
    fields.map(([, name = '', type = '']) => {
      const file = modules.get(type)
      return [name, file === undefined ? undefined : join(dirname(model), file)]
    }),
  )
  const found = { types }
  cache.set(model, found)
  return found
}

/** Returns what the pod security standard `restricted` forbids about a pod. */
export function problemOfSecurity(spec: Json): string | undefined {
  const pod = recordOf(spec['securityContext'])
  const [container = {}] = recordsOf(spec['containers'])
  const inner = recordOf(container['securityContext'])
  const profile = recordOf(inner['seccompProfile'] ?? pod['seccompProfile'])['type']
  const kinds = recordsOf(spec['volumes']).flatMap(volume => Object.keys(volume).filter(key => key !== 'name'))
  const rules: readonly (readonly [isKept: boolean, rule: string])[] = [
    [pod['runAsNonRoot'] === true && pod['runAsUser'] !== 0, 'runAsNonRoot'],
    [inner['allowPrivilegeEscalation'] === false, 'allowPrivilegeEscalation'],
    [inner['privileged'] !== true, 'privileged'],
    [listOf(recordOf(inner['capabilities'])['drop']).includes('ALL'), 'capabilities.drop'],
    [recordOf(inner['capabilities'])['add'] === undefined, 'capabilities.add'],
    [profile === 'RuntimeDefault' || profile === 'Localhost', 'seccompProfile'],
    [!['hostNetwork', 'hostPID', 'hostIPC'].some(name => spec[name] === true), 'host namespaces'],
    [kinds.every(kind => ['persistentVolumeClaim', 'emptyDir', 'configMap', 'projected'].includes(kind)), 'volumes'],
  ]
  return rules.find(([isKept]) => !isKept)?.[1]
}
