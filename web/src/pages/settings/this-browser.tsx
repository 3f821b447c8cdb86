import { Button, SegmentedControl, Switch, useMantineColorScheme } from '@mantine/core'
import { useSignIn } from '../../data/sign-in.tsx'
import { Facts } from '../../parts/facts.tsx'
import { useLetterKeys } from '../../parts/letter-keys.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { Section } from '../../parts/section.tsx'

/** Who has signed in, and the settings that this browser keeps. */
export function ThisBrowser() {
  const { me, isTabOnly, signOut } = useSignIn()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const [areLettersOn, setLetters] = useLetterKeys()
  return (
    <Section
      title="This browser"
      isBoxed
      actions={
        !me.is_authentication_off && (
          <Button variant="default" onClick={() => void signOut()}>
            Sign out
          </Button>
        )
      }
    >
      <Facts
        of={[
          [
            'Signed in',
            me.is_authentication_off ? (
              'authentication is off: every program on this machine has all rights'
            ) : (
              <SafeText key="who" text={me.principal} />
            ),
          ],
          ['Role', me.role === 'admin' ? 'administrator' : 'user'],
          ['Key', me.key_id ?? (me.is_authentication_off ? undefined : 'master key')],
          [
            'Key stored',
            me.is_authentication_off
              ? undefined
              : isTabOnly
                ? 'in this tab, until it is reloaded'
                : 'by a cookie, for 7 days',
          ],
          [
            'Theme',
            <SegmentedControl
              key="theme"
              size="xs"
              aria-label="Theme"
              data={[
                { value: 'auto', label: 'System' },
                { value: 'light', label: 'Light' },
                { value: 'dark', label: 'Dark' },
              ]}
              value={colorScheme}
              onChange={value => setColorScheme(value === 'light' || value === 'dark' ? value : 'auto')}
            />,
          ],
          [
            'Keyboard',
            <Switch
              key="letters"
              label="Single letters are shortcuts (press ? to see them)"
              checked={areLettersOn}
              onChange={({ currentTarget }) => setLetters(currentTarget.checked)}
            />,
          ],
        ]}
      />
    </Section>
  )
}
