<?php

/** A notification for a web site in Safari. Badge, sound and custom properties do not belong to it. */
class ApnsPHP_Message_Safari extends ApnsPHP_Message
{
    protected $_sAction;
    protected $_aUrlArgs;

    public function setAction($sAction)
    {
        $this->_sAction = $sAction;
    }

    public function getAction()
    {
        return $this->_sAction;
    }

    public function setUrlArgs($aUrlArgs)
    {
        $this->_aUrlArgs = $aUrlArgs;
    }

    public function getUrlArgs()
    {
        return $this->_aUrlArgs;
    }

    protected function _getPayload()
    {
        $alert = array();
        foreach (array('title' => $this->_sTitle, 'body' => $this->_sText, 'action' => $this->_sAction) as $name => $text) {
            if (isset($text)) {
                $alert[$name] = (string) $text;
            }
        }
        $aps = array('alert' => $alert);
        if (isset($this->_aUrlArgs)) {
            $aps['url-args'] = $this->_aUrlArgs;
        }
        return array(self::APPLE_RESERVED_NAMESPACE => $aps);
    }
}
