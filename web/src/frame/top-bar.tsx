import { ActionIcon, Menu, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { spotlight } from '@mantine/spotlight'
import {
  IconCheck,
  IconDeviceDesktop,
  IconLogout,
  IconMenu2,
  IconMoon,
  IconSearch,
  IconSun,
  IconUserCircle,
} from '@tabler/icons-react'
import type { Me } from '../../../src/contract/console.ts'
import { useOverview } from '../data/live.ts'
import { useSignIn } from '../data/sign-in.tsx'
import { money } from '../parts/format.ts'
import { useLetterKeys } from '../parts/letter-keys.ts'
import { showProblem } from '../parts/notices.ts'
import { SafeText } from '../parts/safe-text.tsx'
import { ConnectionDot } from './connection-dot.tsx'
import css from './top-bar.module.css'

/** Palette, connection, spending of today, theme, and who has signed in. */
export function TopBar({ onMenu }: { readonly onMenu: () => void }) {
  const { data } = useOverview()
  return (
    <header className={css.bar}>
      <ActionIcon className={css.burger ?? ''} aria-label="Open menu" onClick={onMenu}>
        <IconMenu2 size={18} />
      </ActionIcon>
      <UnstyledButton className={css.search ?? ''} onClick={spotlight.open}>
        <IconSearch size={14} aria-hidden />
        <span className={css.searchText}>Search or jump to</span>
        <kbd className={css.key}>Ctrl K</kbd>
      </UnstyledButton>
      <div className={css.right}>
        <ConnectionDot />
        {data && (
          <Tooltip label="Cost of all calls since midnight">
            <span className={`${css.spend} numbers`} tabIndex={0}>
              {money(data.spend.cost_usd ?? (data.spend.requests === 0 ? 0 : null))} today
            </span>
          </Tooltip>
        )}
        <ThemeMenu />
        <PersonMenu />
      </div>
    </header>
  )
}

function ThemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const Icon = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop }[colorScheme]
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={`Theme: ${colorScheme}`}>
          <Icon size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconDeviceDesktop size={14} />} onClick={() => setColorScheme('auto')}>
          System
        </Menu.Item>
        <Menu.Item leftSection={<IconSun size={14} />} onClick={() => setColorScheme('light')}>
          Light
        </Menu.Item>
        <Menu.Item leftSection={<IconMoon size={14} />} onClick={() => setColorScheme('dark')}>
          Dark
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

const roleWords = { admin: 'administrator', user: 'user', viewer: 'viewer' } as const

interface ActAsProps {
  readonly user: NonNullable<Me['user']>
  readonly onChoose: (teamId: string | null) => void
}

/** Whose objects the person sees and creates: its own, or those of a team. */
function ActAs({ user, onChoose }: ActAsProps) {
  const choices = [{ id: null, name: `${user.name} (own objects)` }, ...user.teams]
  return (
    <>
      <Menu.Label>Act as</Menu.Label>
      {choices.map(({ id, name }) => (
        <Menu.Item
          key={id ?? ''}
          aria-current={user.team_id === id}
          leftSection={<IconCheck size={14} visibility={user.team_id === id ? 'visible' : 'hidden'} aria-hidden />}
          onClick={() => onChoose(id)}
        >
          <SafeText text={name} />
        </Menu.Item>
      ))}
      <Menu.Divider />
    </>
  )
}

function PersonMenu() {
  const { me, signOut, actAs } = useSignIn()
  const [areLettersOn, setLetters] = useLetterKeys()
  const choose = (teamId: string | null) =>
    void actAs(teamId).catch((error: unknown) => showProblem('act as this team', error))
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label="Account">
          <IconUserCircle size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <bdi>{me.user?.name ?? me.principal}</bdi> · {roleWords[me.role]}
        </Menu.Label>
        {me.user && me.user.teams.length > 0 && <ActAs user={me.user} onChoose={choose} />}
        <Menu.Label>Switchyard {me.version}</Menu.Label>
        <Menu.Item component="a" href="/docs">
          API reference
        </Menu.Item>
        <Menu.Item onClick={() => setLetters(!areLettersOn)}>
          {areLettersOn ? 'Switch letter keys off' : 'Switch letter keys on'}
        </Menu.Item>
        {!me.is_authentication_off && (
          <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => void signOut()}>
            Sign out
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
