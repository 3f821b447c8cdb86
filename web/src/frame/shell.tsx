import { Drawer } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet } from '@tanstack/react-router'
import { useTicks } from '../data/live.ts'
import { useMe, useSignIn } from '../data/sign-in.tsx'
import { Keyboard } from './keyboard.tsx'
import { Menu } from './menu.tsx'
import { Palette } from './palette.tsx'
import css from './shell.module.css'
import { TopBar } from './top-bar.tsx'

/** The frame around all pages: menu, top bar, palette, keyboard. */
export function Shell() {
  useTicks()
  const [isMenuOpen, { open, close }] = useDisclosure()
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#page">
        Skip to the page
      </a>
      <div className={css.side}>
        <div className={css.brand}>
          <img src="/console/icon.svg" width={20} height={20} alt="" /> Switchyard
        </div>
        <Menu />
      </div>
      <div className={css.main}>
        <TopBar onMenu={open} />
        <Banner />
        <div className={css.page}>
          <Outlet />
        </div>
      </div>
      <Drawer opened={isMenuOpen} onClose={close} position="left" size={260} title="Switchyard">
        <Menu onNavigate={close} />
      </Drawer>
      <Palette />
      <Keyboard />
    </div>
  )
}

/** What a person must not overlook on any page. */
function Banner() {
  const { is_authentication_off: isOpen, role } = useMe()
  const { isTabOnly } = useSignIn()
  if (isOpen) {
    return (
      <div className={css.banner} role="status">
        Authentication is off: every program on this machine has all rights. Set a master key before others can reach
        this service.
      </div>
    )
  }
  if (role === 'viewer') {
    return (
      <div className={css.banner} role="status">
        You are a viewer: you can read everything here, and change nothing.
      </div>
    )
  }
  if (!isTabOnly) return null
  return (
    <div className={css.banner} role="status">
      This page is served over plain http, so your key stays in this tab only: a reload signs you out. Serve it over
      https to stay signed in.
    </div>
  )
}
