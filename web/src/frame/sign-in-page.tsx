import { Button, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { ApiError } from '../../../src/client/index.ts'
import { useSubmit } from '../data/submit.ts'
import { ProblemLine } from '../parts/page-state.tsx'
import css from './sign-in-page.module.css'

interface Props {
  readonly onKey: (key: string) => Promise<void>
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
