import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { type ErrorShape, type Method, type Route, route } from './route.ts'

/** Providers whose own API is served below `/<provider>/`. */
export const NativeProvider = named(
  'NativeProvider',
  Type.Union([Type.Literal('anthropic'), Type.Literal('openai'), Type.Literal('gemini'), Type.Literal('bedrock')]),
)
export type NativeProvider = Static<typeof NativeProvider>

const shapes: Readonly<Record<NativeProvider, ErrorShape>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  bedrock: 'aws',
}

const titles: Readonly<Record<NativeProvider, string>> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  gemini: 'Gemini',
  bedrock: 'Amazon Bedrock',
}

export const nativeProviders = Object.keys(shapes) as readonly NativeProvider[]

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** OpenAI's maximum file size. */
const largestBody = 512 * 1024 * 1024

const nativeRoute = (provider: NativeProvider, method: Method): Route =>
  route({
    id: `native.${provider}_${method.toLowerCase()}`,
    method,
    path: `/${provider}/{path}`,
    access: provider === 'gemini' ? 'google-key' : 'key',
    errorShape: shapes[provider],
    bodyLimit: largestBody,
    isRead: false,
    params: Type.Object({ path: Type.String({ description: 'Any path of the provider’s API, slashes included' }) }),
    responses: { 200: Type.Unknown({ description: 'Response of the provider, with its status' }) },
    relaysStatus: true,
    alternatives: { '*/*': Type.Unknown({ description: 'Content of the provider' }) },
    summary: `Call the API of ${titles[provider]} (${method})`,
    description: `Forwards the request to ${titles[provider]} with the stored credential and returns the answer unchanged. Paths that call a model are routed, budgeted and logged like calls of the gateway. A virtual key needs \`${provider}\` in its \`passthrough\` list for all other paths.`,
  })

/** The providers' own APIs, called with a key of the gateway. */
export const nativeRoutes: Readonly<Record<string, Route>> = Object.fromEntries(
  nativeProviders.flatMap(provider =>
    methods.map(method => [`${provider}_${method.toLowerCase()}`, nativeRoute(provider, method)]),
  ),
)
