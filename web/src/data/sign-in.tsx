import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react'
import { ApiError } from '../../../src/client/index.ts'
import type { Me } from '../../../src/contract/console.ts'
import { client, rememberKey } from './client.ts'
import { onSignedOut } from './queries.ts'

interface SignIn {
  readonly me: Me
  /** True while the key is only in the memory of this tab. */
  readonly isTabOnly: boolean
  signOut(): Promise<void>
  /** Continues as a team of the person; null: as the person itself. */
  actAs(teamId: string | null): Promise<void>
}

const SignInContext = createContext<SignIn | undefined>(undefined)

/** Returns who has signed in. Only inside `SignInGate`. */
export function useSignIn(): SignIn {
  const signIn = use(SignInContext)
  if (!signIn) throw new Error('useSignIn needs SignInGate')
  return signIn
}

export const useMe = (): Me => useSignIn().me

/** True for the master key and keys of role `admin`. */
export const useIsAdmin = (): boolean => useMe().role === 'admin'

/** False for viewers: the service rejects their changes, so the console offers none. */
export const useMayChange = (): boolean => useMe().role !== 'viewer'

interface FormProps {
  /** Rejects with ApiError for a key that the service does not accept. */
  readonly onKey: (key: string) => Promise<void>
}

interface Props {
  readonly form: (props: FormProps) => ReactNode
  readonly pending: ReactNode
  readonly failed: (props: { error: Error; retry: () => void }) => ReactNode
  readonly children: ReactNode
}

const isSignedOut = (error: Error | null): boolean => error instanceof ApiError && error.status === 401

/** Shows its children to a person who has signed in, or when authentication is off; to others the form. */
export function SignInGate({ form: Form, pending, failed: Failed, children }: Props) {
  const queries = useQueryClient()
  const [isTabOnly, setTabOnly] = useState(false)
  const [isEnded, setEnded] = useState(false)
  const {
    data: me,
    error,
    refetch,
  } = useQuery({ queryKey: ['me'], queryFn: () => client.console.me(), staleTime: 60_000 })
  useEffect(() => onSignedOut(() => setEnded(true)), [])

  const context = useMemo(
    () =>
      me && {
        me,
        isTabOnly,
        signOut: async () => {
          await client.console.signOut()
          rememberKey(undefined)
          queries.clear()
          setEnded(true)
        },
        actAs: async (teamId: string | null) => {
          const found = await client.console.actAs({ body: { team_id: teamId } })
          queries.setQueryData(['me'], found)
          // Objects of the owner before must not stay on the page.
          await queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
        },
      },
    [me, isTabOnly, queries],
  )

  const onKey = async (key: string): Promise<void> => {
    const { is_remembered, ...found } = await client.console.signIn({ body: { key } })
    rememberKey(is_remembered ? undefined : key)
    queries.clear()
    queries.setQueryData(['me'], found)
    setTabOnly(!is_remembered)
    setEnded(false)
    await refetch()
  }

  if (isEnded || (!me && isSignedOut(error))) return <Form onKey={onKey} />
  if (context) return <SignInContext value={context}>{children}</SignInContext>
  return error ? <Failed error={error} retry={() => void refetch()} /> : pending
}
