import { Button, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../../src/client/index.ts'
import { client } from '../data/client.ts'
import { useSubmit } from '../data/submit.ts'
import { ProblemLine } from '../parts/page-state.tsx'
import css from './sign-in-page.module.css'

interface Props {
  readonly onKey: (key: string) => Promise<void>
}

const methodsQuery = { queryKey: ['sign-in methods'], queryFn: () => client.console.signInMethods(), staleTime: 60_000 }

/** Sends the browser to the identity provider, where one is configured. */
function SingleSignOn() {
  const { data } = useQuery(methodsQuery)
  const { send, isRunning, error } = useSubmit(async () => {
    const { authorization_url } = await client.console.beginSso()
    window.location.assign(authorization_url)
  })
  if (!data?.sso) return undefined
  return (
    <>
      <Button size="sm" loading={isRunning} onClick={() => void send()}>
        Sign in with <bdi>&nbsp;{data.sso.name}</bdi>
      </Button>
      <ProblemLine error={error} />
      <Divider label="or with a key" />
    </>
  )
}

/** One field for a key. It is sent once, in the body of a request, and never stored by the page. */
export function SignInPage({ onKey }: Props) {
  const [key, setKey] = useState('')
  const { send, isRunning, error } = useSubmit(() => onKey(key.trim()))
  const isWrong = error instanceof ApiError && error.status === 401

  return (
    <main className={css.page}>
      <form className={css.form} onSubmit={event => void send(event)}>
        <Stack gap="md">
          <img src="/console/icon.svg" width={40} height={40} alt="" />
          <Title order={1}>Sign in to Switchyard</Title>
          <SingleSignOn />
          <PasswordInput
            label="API key"
            description="The master key, or a key that an administrator gave you"
            value={key}
            onChange={({ currentTarget }) => setKey(currentTarget.value)}
            error={isWrong && 'The service does not know this key, or it has expired or been revoked'}
            autoComplete="off"
            autoFocus
            required
          />
          {!isWrong && <ProblemLine error={error} />}
          <Button type="submit" size="sm" loading={isRunning} disabled={key.trim() === ''}>
            Sign in
          </Button>
          <Text size="sm" c="dimmed">
            The master key is the value of <code>GATEWAY_MASTER_KEY</code> where the service runs.
            <br />
            <a href="/docs">API reference</a>
          </Text>
        </Stack>
      </form>
    </main>
  )
}
