import { noTokens, type TokenCounts, withUsage } from '../counting/token-counts.ts'

/** Usage and stop reason of a whole answer in Anthropic's format; nothing for any other body. */
export function usageOfAnswer(body: Buffer): { usage: TokenCounts; stopReason: string | undefined } {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'))
    const { usage, stop_reason: stopReason } = (answer ?? {}) as { usage?: unknown; stop_reason?: unknown }
    return { usage: withUsage(noTokens, usage), stopReason: typeof stopReason === 'string' ? stopReason : undefined }
  } catch {
    // The client already has these bytes as they came; there is nothing to count in them.
    return { usage: noTokens, stopReason: undefined }
  }
}
