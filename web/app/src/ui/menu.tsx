import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { Icon, type IconName } from './icons';

interface Props {
  /** Of the button that opens it. */
  label: string;
  icon?: IconName;
  children: ComponentChildren;
}

/** A button with a list of things to do. Arrow keys move, Escape and a press elsewhere close it. */
export function Menu({ label, icon = 'more', children }: Props) {
  const open = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  /** Whether it is drawn above its button, since there is no room below. */
  const up = useSignal(false);
  const id = useId();
  useLayoutEffect(() => {
    const list = root.current?.querySelector('[role=menu]');
    const place = button.current?.getBoundingClientRect();
    if (!open.value || list == null || place === undefined) return;
    const needs = list.getBoundingClientRect().height;
    up.value = place.bottom + needs > window.innerHeight && place.top > needs;
  }, [open.value]);
  const items = (): HTMLElement[] => [
    ...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? []),
  ];
  useEffect(() => {
    if (!open.value) return undefined;
    items()[0]?.focus({ preventScroll: true });
    const away = (event: Event): void => {
      if (root.current?.contains(event.target as Node) !== true) open.value = false;
    };
    document.addEventListener('pointerdown', away);
    document.addEventListener('focusin', away);
    return () => {
      document.removeEventListener('pointerdown', away);
      document.removeEventListener('focusin', away);
    };
  }, [open.value]);
  const close = (): void => {
    open.value = false;
    button.current?.focus();
  };
  return (
    <div
      class="menu"
      ref={root}
      onKeyDown={(event) => {
        if (!open.value) return;
        const all = items();
        const at = all.indexOf(document.activeElement as HTMLElement);
        if (event.key === 'Escape') close();
        else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
        else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus();
        else if (event.key === 'Home') all[0]?.focus();
        else if (event.key === 'End') all.at(-1)?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <button
        type="button"
        class="icon-button"
        ref={button}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name={icon} />
      </button>
      {open.value && (
        <div class="menu-items" role="menu" id={id} aria-label={label} data-up={up} onClick={close}>
          {children}
        </div>
      )}
    </div>
  );
}

export function MenuItem({
  onClick,
  children,
}: {
  onClick: () => void;
  children: ComponentChildren;
}) {
  return (
    <button type="button" role="menuitem" tabIndex={-1} class="menu-item" onClick={onClick}>
      {children}
    </button>
  );
}
