import { type Static, Type } from 'typebox'
import { type ErrorShape, type Method, type Route, route } from './route.ts'

/** Providers whose own API is served below a path of their name. */
export const NativeProvider = Type.Union([
  Type.Literal('anthropic'),
  Type.Literal('openai'),
  Type.Literal('gemini'),
  Type.Literal('bedrock'),
])
export type NativeProvider = Static<typeof NativeProvider>

const shapes: Readonly<Record<NativeProvider, ErrorShape>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  bedrock: 'aws',
}

export const nativeProviders = Object.keys(shapes) as readonly NativeProvider[]

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** As large as the files that OpenAI takes. */
const largestBody = 512 * 1024 * 1024

const nativeRoute = (provider: NativeProvider, method: Method): Route =>
  route({
    id: `native.${provider}_${method.toLowerCase()}`,
    group: 'Provider APIs',
    method,
    path: `/${provider}/{path}`,
    access: provider === 'gemini' ? 'google-key' : 'key',
    errorShape: shapes[provider],
    bodyLimit: largestBody,
    params: Type.Object({ path: Type.String({ description: 'Any path of the provider’s API, with its slashes' }) }),
    responses: { 200: Type.Unknown({ description: 'What the provider answers, with its own status' }) },
    summary: `${method} any path of the API of ${provider}, with the key of the gateway; calls of models are those of the gateway, all else needs \`passthrough\` of the key`,
  })

/** The providers' own APIs: their paths and bytes, with a key of the gateway. */
export const nativeRoutes: Readonly<Record<string, Route>> = Object.fromEntries(
  nativeProviders.flatMap(provider =>
    methods.map(method => [`${provider}_${method.toLowerCase()}`, nativeRoute(provider, method)]),
  ),
)
