import { isRecord, type Json, recordOf } from '../../platform/json.ts'

/** A request of a server to its client: elicitation, sampling or roots. */
export interface ServerRequest {
  readonly method: string
  readonly params: Json
}

/** Modes and options that both eras know, by capability of the client. */
const known = { elicitation: ['form', 'url'], sampling: ['tools', 'context'], roots: [] } as const

/**
 * Returns those capabilities of a client that a server of the other era may use. There are few different results, so
 * that they can be part of a key.
 */
export function bridgedCapabilities(given: unknown): Json {
  const entries = Object.entries(known).flatMap(([name, options]) => {
    const value = recordOf(given)[name]
    if (!isRecord(value)) return []
    const kept = options.filter(option => isRecord(value[option])).map(option => [option, {}] as const)
    // An empty elicitation capability means forms, in both eras.
    const isForm = name === 'elicitation' && kept.length === 0
    return [[name, isForm ? { form: {} } : Object.fromEntries(kept)] as const]
  })
  return Object.fromEntries(entries)
}

/** True if a client with these capabilities can answer a request. */
export function canAnswer(capabilities: Json, { method, params }: ServerRequest): boolean {
  switch (method) {
    case 'elicitation/create':
      return (params['mode'] === 'url' ? 'url' : 'form') in recordOf(capabilities['elicitation'])
    case 'sampling/createMessage':
      if (params['tools'] !== undefined && !('tools' in recordOf(capabilities['sampling']))) return false
      return 'sampling' in capabilities
    case 'roots/list':
      return 'roots' in capabilities
    default:
      return false
  }
}

/** Capabilities of a server that exist in both eras, with the options that exist in both. */
const ofServers: Readonly<Record<string, readonly string[]>> = {
  tools: ['listChanged'],
  prompts: ['listChanged'],
  resources: ['subscribe', 'listChanged'],
  completions: [],
  logging: [],
}

/** Returns the capabilities of a server without those that only its own era has. */
export function serverCapabilities(given: unknown): Json {
  const own = recordOf(given)
  const entries = Object.entries(ofServers).flatMap(([name, options]) => {
    const value = own[name]
    if (!isRecord(value)) return []
    return [[name, Object.fromEntries(options.filter(key => value[key] === true).map(key => [key, true]))] as const]
  })
  return { ...Object.fromEntries(entries), ...(isRecord(own['experimental']) && { experimental: own['experimental'] }) }
}
