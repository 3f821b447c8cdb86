/** A model that a provider is known to serve. */
export interface KnownModel {
  readonly id: string
  readonly name: string
  readonly contextWindow: number
}

/**
 * What `provider/*` is shown as when a client lists models: the current main models, by the provider's own ids. Any
 * other id of the provider can be called too. Source: `@pydantic/genai-prices` 0.1.8.
 */
export const knownModels: Readonly<Record<string, readonly KnownModel[]>> = {
  anthropic: [
    { id: 'claude-opus-5-5', name: 'Claude Opus 5.5', contextWindow: 1_000_000 },
    { id: 'claude-sonnet-5', name: 'Claude Sonnet 5', contextWindow: 1_000_000 },
    { id: 'claude-haiku-4-5', name: 'Claude Haiku 4.5', contextWindow: 200_000 },
    { id: 'claude-opus-5', name: 'Claude Opus 5', contextWindow: 1_000_000 },
    { id: 'claude-fable-5-1', name: 'Claude Fable 5.1', contextWindow: 1_000_000 },
  ],
  openrouter: [
    { id: 'anthropic/claude-opus-5.5', name: 'Claude Opus 5.5', contextWindow: 1_000_000 },
    { id: 'anthropic/claude-sonnet-5', name: 'Claude Sonnet 5', contextWindow: 1_000_000 },
    { id: 'anthropic/claude-haiku-4.5', name: 'Claude Haiku 4.5', contextWindow: 200_000 },
  ],
}
