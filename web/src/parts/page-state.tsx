import { Button, Code, Skeleton, Stack, Text } from '@mantine/core'
import { useTimeout } from '@mantine/hooks'
import { IconAlertTriangle, IconLock, IconSearchOff } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { problemOf } from '../data/problem.ts'
import { useMayChange } from '../data/sign-in.tsx'
import { CopyButton } from './copy.tsx'
import { InlineCode } from './inline-code.tsx'
import css from './page-state.module.css'

interface BlockProps {
  readonly icon?: ReactNode
  readonly title: string
  readonly children?: ReactNode
  readonly actions?: ReactNode
  readonly role?: 'alert' | 'status'
}

function Block({ icon, title, children, actions, role }: BlockProps) {
  return (
    <div className={css.block} role={role}>
      {icon}
      <Text fw={600} component="h2" size="lg" m={0}>
        {title}
      </Text>
      {children}
      {actions && <div className={css.actions}>{actions}</div>}
    </div>
  )
}

/** Placeholder lines, shown after 150 ms so that quick answers do not flicker. */
export function Loading({ lines = 6 }: { readonly lines?: number }) {
  const [isShown, setShown] = useState(false)
  useTimeout(() => setShown(true), 150, { autoInvoke: true })
  return (
    <Stack gap="sm" p="md" aria-busy="true" aria-label="Loading" role="status">
      {isShown &&
        Array.from({ length: lines }, (_, at) => at).map(at => (
          <Skeleton key={at} height={20} width={`${92 - ((at * 17) % 40)}%`} />
        ))}
    </Stack>
  )
}

interface EmptyProps {
  readonly title: string
  /** One sentence: what this is for. */
  readonly children: ReactNode
  /** One button, which changes something. Viewers do not get it. */
  readonly action?: ReactNode
  /** One link to the docs or to another page. */
  readonly link?: ReactNode
}

/** Nothing exists yet: what this is for, one button, one link. */
export function Empty({ title, children, action, link }: EmptyProps) {
  const mayChange = useMayChange()
  return (
    <Block
      title={title}
      actions={
        <>
          {mayChange && action}
          {link}
        </>
      }
    >
      <Text c="dimmed" maw={480} ta="center">
        {children}
      </Text>
    </Block>
  )
}

/** Objects exist, but none matches the filters. */
export function NoMatch({ what, onClear }: { readonly what: string; readonly onClear: () => void }) {
  return (
    <Block
      icon={<IconSearchOff size={24} aria-hidden />}
      title={`No ${what} match these filters`}
      actions={
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      }
    />
  )
}

interface ProblemProps {
  readonly error: unknown
  /** What failed: `load sessions`. */
  readonly what: string
  readonly retry?: (() => void) | undefined
}

/** Shows an error in place of what could not be loaded: cause, next step, request id. One failed panel leaves the others. */
export function ProblemBlock({ error, what, retry }: ProblemProps) {
  const { message, cause, nextStep, requestId, isForbidden, isMissing } = problemOf(error)
  if (isForbidden) return <NoPermission right={message} />
  return (
    <Block
      role="alert"
      icon={<IconAlertTriangle size={24} aria-hidden color="var(--state-failed)" />}
      title={isMissing ? 'Not found' : `Cannot ${what}`}
      actions={
        retry && (
          <Button variant="default" onClick={retry}>
            Try again
          </Button>
        )
      }
    >
      <Text className={css.message}>{message}</Text>
      <Text c="dimmed" className={css.message}>
        {cause} <InlineCode text={nextStep} />
      </Text>
      {requestId !== undefined && (
        <Text size="sm" c="dimmed">
          Request id <Code>{requestId}</Code> <CopyButton text={requestId} what="request id" />
        </Text>
      )}
    </Block>
  )
}

interface NoPermissionProps {
  /** The missing right: `Only administrators manage keys`. */
  readonly right: string
  readonly title?: string
}

/** The person may not see or do this; nothing was loaded. */
export function NoPermission({ right, title = 'Your key may not see this page' }: NoPermissionProps) {
  return (
    <Block icon={<IconLock size={24} aria-hidden />} title={title}>
      <Text c="dimmed" maw={480} ta="center">
        {right}. Sign in with a key that has this right, or ask an administrator.
      </Text>
    </Block>
  )
}

interface ProblemLineProps {
  readonly error: unknown
  /** Repeats what failed; absent where the button of the form does. */
  readonly retry?: () => void
}

/** An error beside a form or button that stays usable. */
export function ProblemLine({ error, retry }: ProblemLineProps) {
  if (!error) return null
  const { message, nextStep, requestId } = problemOf(error)
  return (
    <div className={css.line} role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div>
        <Text size="sm" className={css.message}>
          {message}
        </Text>
        <Text size="sm" c="dimmed">
          <InlineCode text={nextStep} /> {requestId !== undefined && <CopyButton text={requestId} what="request id" />}
        </Text>
      </div>
      {retry && (
        <Button variant="default" size="compact-xs" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** The object comes from the configuration file and cannot be changed here. */
export function ReadOnly({ file }: { readonly file: string }) {
  return (
    <div className={css.line}>
      <IconLock size={16} aria-hidden />
      <Text size="sm">
        Defined in <Code>{file}</Code>. Change it there; the service reads the file again by itself.
      </Text>
    </div>
  )
}
