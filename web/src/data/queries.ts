import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, ServiceUnreachable } from '../../../src/client/index.ts'

const signOutListeners = new Set<() => void>()

/** Calls `listener` when the service no longer accepts the credential of this page. */
export function onSignedOut(listener: () => void): () => void {
  signOutListeners.add(listener)
  return () => void signOutListeners.delete(listener)
}

/** Reports an error of any request. A 401 leads to the sign-in page. */
export function reportError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) for (const listener of signOutListeners) listener()
}

const maxRetries = 2

/** Retries requests that never reached the service, and answers that name a time to retry. */
function isWorthRetrying(failures: number, error: Error): boolean {
  if (failures >= maxRetries) return false
  return error instanceof ServiceUnreachable || (error instanceof ApiError && error.status === 503)
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: reportError }),
  mutationCache: new MutationCache({ onError: reportError }),
  defaultOptions: {
    queries: { retry: isWorthRetrying, retryDelay: 1000, staleTime: 2000, refetchOnWindowFocus: true },
  },
})
