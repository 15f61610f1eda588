// The page's symbols: lines of one width, in the colour of the text.
const PATHS = {
  attach:
    'M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.6-8.6a3.4 3.4 0 0 1 4.8 4.8l-8.6 8.5a1.7 1.7 0 0 1-2.4-2.4l7.9-7.8',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  down: 'M12 5v14M6 13l6 6 6-6',
  edit: 'M4 20l1-4L16.5 4.5a2 2 0 0 1 3 3L8 19z',
  left: 'M14.5 6l-6 6 6 6',
  list: 'M4 6h16M4 12h16M4 18h10',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  plus: 'M12 5v14M5 12h14',
  retry: 'M19 7v5h-5M5 17v-5h5M18 12a6.5 6.5 0 0 0-11.5-3.5M6 12a6.5 6.5 0 0 0 11.5 3.5',
  right: 'M9.5 6l6 6-6 6',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.5 16.5L20 20',
  settings:
    'M4 7h9M19 7h1M4 17h1M11 17h9M16 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  stop: 'M7 7h10v10H7z',
  up: 'M12 19V5M6 11l6-6 6 6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  disabled?: boolean;
  /** Further classes. */
  class?: string;
  /** Of a button that shows and hides something. */
  expanded?: boolean;
}

/** A button with a symbol; its name is read out, and shown as a tip. */
export function IconButton({ icon, label, onClick, disabled, expanded, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      class={`icon-button ${rest.class ?? ''}`}
      aria-label={label}
      title={label}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
